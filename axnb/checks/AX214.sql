-- id: AX214
-- name: result-before-call
-- severity: warning
-- empty without: tool_calls
-- only with: early_results
--
-- A result stands before the call that it answers. Rows were put into another order than they were
-- written in, two writers overlapped, or the result belongs to an earlier call that was lost.
select
    k.source,
    k.conversation_id,
    k.result_step as step,
    format('the result at step {} stands before its call at step {}.', k.result_step, k.call_step) as sentence,
    [
        witness_row(f.step, f.digest),
        witness_row(e.step, e.digest)
    ] as witness
from tool_calls k
left join event_rows e on e.source = k.source and e."row" = k.call_row
left join event_rows f on f.source = k.source and f."row" = k.result_row
where k.result_position < k.call_position
