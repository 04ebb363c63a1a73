-- id: AX207
-- name: repeated-operation
-- severity: warning
--
-- The arguments of several calls hold one operation id. Either one operation was asked for again, and
-- a tool that knows the id did it once; or two operations share a key, and the second was swallowed.
-- Read both back from the tool's system: the log cannot tell them apart.
select
    k.source,
    k.conversation_id,
    k.call_step as step,
    format('operation {} of {} is asked for by {} calls.', short(k.operation_id), short(k.tool), k.uses) as sentence,
    [struct_pack(step := e.step, digest := lower(hex(e.digest)))] as witness
from (
    select *,
        count(*) over (partition by source, tool, operation_id) as uses,
        row_number() over (partition by source, tool, operation_id order by conversation_id, call_position, part) as nth
    from tool_calls
    where starts_with(operation_id_from, '$')
) k
left join events e on e.source = k.source and e.conversation_id = k.conversation_id
    and e.position = k.call_position
where k.uses > 1 and k.nth > 1
