-- id: AX138
-- name: empty-content
-- severity: warning
--
-- A message or a step of a row has nothing in it: no text, no call, no content of any kind. Clients and
-- harnesses have no cause to send one, and an empty text is a text. What was there is gone, or another
-- program wrote the row.
select
    e.source,
    n.conversation_id,
    e.step,
    format('step {} holds a message or a step with nothing in it.', e.step) as sentence,
    [struct_pack(step := e.step, digest := lower(hex(e.digest)))] as witness
from (
    select e.source, e.conversation, e."row", e.step, e.digest
    from event_rows e
    left join careful_parts p on p.source = e.source and p."row" = e."row"
    where not e.fast and e.content_count > 0
    group by e.source, e.conversation, e."row", e.step, e.digest, e.content_count
    having count(p."row") < e.content_count or bool_or(p.kind = 'empty')
) e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
