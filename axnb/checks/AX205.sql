-- id: AX205
-- name: reused-call-id
-- severity: info
-- empty without: tool_calls
-- only with: several_calls
--
-- One id names several calls of a conversation, in different turns: harnesses that count begin again
-- in each turn. Within a turn the id pairs a call with its result; as a key into a ledger it names
-- several operations. Give the tool an operation id of its own (axnb.toml). The witness is the first
-- such id's calls, in the first two turns that use it.
with
turned as (
    select source, conversation_id, call_id, turn,
        arg_min(struct_pack(step := call_step, "row" := call_row), call_position) as first,
        min(call_position) as position
    from tool_calls
    where (source, conversation_id, call_id) in (
        select (source, conversation_id, call_id)
        from tool_calls
        where call_id <> ''
        group by source, conversation_id, call_id
        having min(turn) < max(turn)
    )
    group by source, conversation_id, call_id, turn
),
uses as (
    select source, conversation_id, call_id, arg_min(first, turn, 2) as first_two,
        min(struct_pack(p := position, c := call_id)) as place
    from turned
    group by source, conversation_id, call_id
),
reused as (
    select source, conversation_id, count(*) as ids, arg_min(call_id, place) as call_id,
        arg_min(first_two, place) as first_two
    from uses
    group by source, conversation_id
)
select
    r.source,
    r.conversation_id,
    r.first_two[2].step as step,
    format('call id {} names calls of several turns{}.', short(r.call_id),
        case r.ids when 1 then '' when 2 then ', and so does another id' else format(', and so do {} other ids', r.ids - 1) end) as sentence,
    [
        witness_row(r.first_two[1].step, e.digest),
        witness_row(r.first_two[2].step, f.digest)
    ] as witness
from reused r
left join event_rows e on e.source = r.source and e."row" = r.first_two[1]."row"
left join event_rows f on f.source = r.source and f."row" = r.first_two[2]."row"
