-- id: AX211
-- name: possible-double
-- severity: warning
--
-- A call whose outcome is unknown was followed by a call of the same tool with the same arguments.
-- If the first one had its effect after all, as after a time-out, there are two now. Look for both in
-- the tool's own system.
select
    k.source,
    k.conversation_id,
    k.next_step as step,
    format('{} at step {} may repeat the call at step {}, whose outcome is unknown.',
        case when k.tool = '' then 'the call' else k.tool end, k.next_step, k.call_step) as sentence,
    [
        struct_pack(step := e.step, digest := lower(hex(e.digest))),
        struct_pack(step := f.step, digest := lower(hex(f.digest)))
    ] as witness
from (
    select
        *,
        lead(call_step) over same_call as next_step,
        lead("row") over same_call as next_row
    from compared_arguments
    window same_call as (partition by source, conversation_id, tool, content order by call_position, part)
) k
left join event_rows e on e.source = k.source and e."row" = k."row"
left join event_rows f on f.source = k.source and f."row" = k.next_row
where k.outcome in ('unknown', 'placeholder') and k.consequential and k.next_row is not null
