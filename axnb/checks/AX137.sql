-- id: AX137
-- name: crowded-output
-- severity: warning
-- only with: several_contents
--
-- A row that is no input holds several messages or steps. AX logs each output of a harness in a row of
-- its own, and only what a client sent at once stands together. Another program wrote the row or put
-- rows together: its parts have one number where they had one each.
select
    e.source,
    n.conversation_id,
    e.step,
    format('step {} holds {} messages or steps, and is no input.', e.step, e.content_count) as sentence,
    [witness_row(e.step, e.digest)] as witness
from event_rows e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
where e.content_count > 1 and e.harness_id is null
    and not coalesce(e.part_role = 'user' and e.part_kind in ('text', 'other'), false)
