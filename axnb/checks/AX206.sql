-- id: AX206
-- name: conflicting-calls
-- severity: warning
--
-- One id names several calls within one turn, and they ask for different things. Which result
-- belongs to which call is a guess from there on, and to a ledger both are one operation.
select
    source,
    conversation_id,
    max(step) as step,
    format('call id {} names {} different calls of turn {}.', short(call_id), count(distinct coalesce(content, row_digest)), turn) as sentence,
    list(struct_pack(step := step, digest := lower(hex(row_digest))) order by position, "row") as witness
from compared
where why = 'call' and kind = 'tool_call'
group by source, conversation_id, turn, call_id
having count(distinct coalesce(content, row_digest)) > 1
