-- id: AX206
-- name: conflicting-calls
-- severity: warning
--
-- One id names several calls within one turn, and they ask for different things. Which result
-- belongs to which call is a guess from there on, and to a ledger both are one operation.
select
    c.source,
    n.conversation_id,
    max(c.step) as step,
    format('call id {} names {} different calls of turn {}.', c.call_id, count(distinct c.content), c.turn) as sentence,
    list(struct_pack(step := c.step, digest := lower(hex(c.row_digest))) order by c.position, c."row") as witness
from compared_calls c
join conversation_numbers n on n.source = c.source and n.conversation = c.conversation
where c.kind = 'tool_call'
group by c.source, n.conversation_id, c.turn, c.call_id
having count(distinct coalesce(c.content, c.row_digest)) > 1
