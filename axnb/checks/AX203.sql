-- id: AX203
-- name: unknown-outcome
-- severity: warning
-- empty without: tool_calls
-- only with: unknown_calls
--
-- A call of a tool was logged, and the log does not say what came of it: no result, a time-out, or
-- a placeholder that only says that the call was cut off. The effect may have happened. Read it back
-- from the tool's own system, by its operation id, before anything runs again.
select
    k.source,
    k.conversation_id,
    k.call_step as step,
    format('{} {}: {}.', case when k.tool = '' then 'a call' else short(k.tool) end,
        short(coalesce(k.operation_id, '(no id)')),
        case
            when k.result_position is null then 'no result was logged'
            when k.outcome = 'placeholder' then 'its result is a placeholder'
            else 'its result says that nobody waited for the outcome'
        end) as sentence,
    [witness_row(e.step, e.digest)] as witness
from tool_calls k
join conversations c on c.source = k.source and c.conversation_id = k.conversation_id
left join silent_harnesses h on h.source = k.source and h.harness_id = coalesce(c.harness_id, '')
left join event_rows e on e.source = k.source and e."row" = k.call_row
where k.outcome in ('unknown', 'placeholder') and k.consequential and h.source is null
