-- id: AX206
-- name: conflicting-calls
-- severity: warning
-- empty without: compared
--
-- One id names several calls within one turn, and they ask for different things: another tool, or
-- other arguments. Which result belongs to which call is a guess from there on, and to a ledger both
-- are one operation. The witness is the first two calls that differ.
with
different as (
    select
        source, conversation_id, turn, call_id,
        min(struct_pack(p := position, r := "row", n := part)) as place,
        arg_min(
            witness_row(step, row_digest),
            struct_pack(p := position, r := "row", n := part)
        ) as first
    from compared
    where why = 'id'
    group by source, conversation_id, turn, call_id, tool, coalesce(content, row_digest)
)
select
    source,
    conversation_id,
    (list(first order by place)[2]).step as step,
    format('call id {} names {} different calls of turn {}.', short(call_id), count(*), turn) as sentence,
    list(first order by place)[1:2] as witness
from different
group by source, conversation_id, turn, call_id
having count(*) > 1
