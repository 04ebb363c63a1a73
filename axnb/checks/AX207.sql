-- id: AX207
-- name: repeated-operation
-- severity: warning
-- empty without: tool_calls
-- only with: several_ruled_calls
--
-- The arguments of several calls hold one operation id. Either one operation was asked for again, and
-- a tool that knows the id did it once; or two operations share a key, and the second was swallowed.
-- Read both back from the tool's system: the log cannot tell them apart. The witness is the call that
-- asks again.
select
    k.source,
    k.conversation_id,
    k.call_step as step,
    format('operation {} of {} is asked for by {} calls, first at step {} of {}.', short(k.operation_id), short(k.tool), k.uses,
        k.first.step, short(k.first.conversation_id)) as sentence,
    [witness_row(e.step, e.digest)] as witness
from (
    select *,
        count(*) over (partition by source, tool, operation_id) as uses,
        row_number() over in_order as nth,
        first_value(struct_pack(step := call_step, conversation_id := conversation_id)) over in_order as first
    from tool_calls
    where starts_with(operation_id_from, '$')
    window in_order as (
        partition by source, tool, operation_id order by conversation_id, call_position, call_row, part
    )
) k
left join event_rows e on e.source = k.source and e."row" = k.call_row
where k.uses > 1 and k.nth > 1
