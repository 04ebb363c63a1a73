-- id: AX211
-- name: possible-double
-- severity: warning
-- empty without: compared, tool_calls
--
-- A call whose outcome is unknown was followed by a call of the same tool with the same arguments.
-- If the first one had its effect after all, as after a time-out, there are two now. Look for both in
-- the tool's own system.
select
    k.source,
    k.conversation_id,
    k.next_step as step,
    format('{} at step {} may repeat the call at step {}, whose outcome is unknown.',
        case when k.tool = '' then 'the call' else short(k.tool) end, k.next_step, k.call_step) as sentence,
    [
        witness_row(k.call_step, k.row_digest),
        witness_row(k.next_step, k.next_digest)
    ] as witness
from (
    select
        c.source, c.conversation_id, c.tool, c.step as call_step, c.row_digest, k.outcome, k.consequential,
        lead(c.step) over same_call as next_step,
        lead(c.row_digest) over same_call as next_digest
    from compared c
    join tool_calls k on k.source = c.source and k.call_row = c."row" and k.part = c.part
    where c.why = 'arguments' and c.content is not null
    window same_call as (
        partition by c.source, c.conversation_id, c.tool, c.content order by c.position, c."row", c.part
    )
) k
where k.outcome in ('unknown', 'placeholder') and k.consequential and k.next_digest is not null
