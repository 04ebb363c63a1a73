-- id: AX205
-- name: reused-call-id
-- severity: info
--
-- One id names several calls of a conversation, in different turns: harnesses that count begin again
-- in each turn. Within a turn the id pairs a call with its result; as a key into a ledger it names
-- several operations. Give the tool an operation id of its own (axnb.toml). The witness is the first
-- such id's calls.
with
uses as (
    select
        source, conversation_id, call_id,
        list(struct_pack(step := call_step, position := call_position) order by call_position)[1:2] as first_two
    from tool_calls
    where (source, conversation_id, call_id) in (
        select (source, conversation_id, call_id)
        from tool_calls
        where call_id <> ''
        group by source, conversation_id, call_id
        having min(turn) < max(turn)
    )
    group by source, conversation_id, call_id
),
reused as (
    select source, conversation_id, count(*) as ids, arg_min(call_id, first_two[2].position) as call_id,
        arg_min(first_two, first_two[2].position) as first_two
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
        struct_pack(step := r.first_two[1].step, digest := lower(hex(e.digest))),
        struct_pack(step := r.first_two[2].step, digest := lower(hex(f.digest)))
    ] as witness
from reused r
left join events e on e.source = r.source and e.conversation_id = r.conversation_id and e.position = r.first_two[1].position
left join events f on f.source = r.source and f.conversation_id = r.conversation_id and f.position = r.first_two[2].position
