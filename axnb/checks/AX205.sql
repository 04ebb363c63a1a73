-- id: AX205
-- name: reused-call-id
-- severity: info
--
-- One id names several calls of a conversation, in different turns: harnesses that count begin again
-- in each turn. Within a turn the id pairs a call with its result; as a key into a ledger it names
-- several operations. Give the tool an operation id of its own (axnb.toml).
select
    k.source,
    k.conversation_id,
    list_extract(list(k.call_step order by k.call_position), 2) as step,
    format('call id {} names {} calls of the conversation.', k.call_id, count(*)) as sentence,
    list(struct_pack(step := k.call_step, digest := lower(hex(e.digest))) order by k.call_position)[1:2] as witness
from (
    select *, count(*) over (partition by source, conversation_id, call_id) as uses
    from tool_calls
    where call_id <> ''
) k
left join events e on e.source = k.source and e.conversation_id = k.conversation_id
    and e.position = k.call_position
where k.uses > 1
group by k.source, k.conversation_id, k.call_id
having count(distinct k.turn) > 1
