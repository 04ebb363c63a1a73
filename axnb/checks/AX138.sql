-- id: AX138
-- name: empty-content
-- severity: info
-- only with: careful_contents
--
-- A message or a step of a row has no content: no text, no call, nothing of any kind; an empty text is a
-- text. AX logs what a harness or a client sends, and a few send such; else what was there is gone, and
-- the row was changed.
select
    e.source,
    n.conversation_id,
    e.step,
    format('step {} holds a message or a step without content.', e.step) as sentence,
    [witness_row(e.step, e.digest)] as witness
from (
    select e.source, e.conversation, e."row", e.step, e.digest
    from event_rows e
    left join careful_parts p on p.source = e.source and p."row" = e."row"
    where not e.fast and e.content_count > 0
    group by e.source, e.conversation, e."row", e.step, e.digest, e.content_count
    having count(p."row") < e.content_count or bool_or(p.kind = 'empty')
) e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
