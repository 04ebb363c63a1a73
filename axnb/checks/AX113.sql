-- id: AX113
-- name: unanswered-at-end
-- severity: warning
-- empty without: tool_calls
-- only with: unknown_calls
--
-- A turn is COMPLETED and holds a call without a result, although its harness logs results. The end
-- says only that the harness's stream was closed: also a turn that was resumed with nothing ends so.
-- The effect of the call may have happened. Read it back before anything repeats it. Tools that change
-- nothing (axnb.toml) do not count.
select
    k.source,
    k.conversation_id,
    min(k.call_step) as step,
    format('turn {} is COMPLETED, and {} of it {} no result.', k.turn,
        case when count(*) = 1 then 'a call' else count(*) || ' calls' end,
        case when count(*) = 1 then 'has' else 'have' end) as sentence,
    list(witness_row(e.step, e.digest) order by k.call_position, k.part) as witness
from tool_calls k
join turns t on t.source = k.source and t.conversation_id = k.conversation_id and t.turn = k.turn
    and t.ended = 'STATE_COMPLETED'
join conversations c on c.source = k.source and c.conversation_id = k.conversation_id
left join silent_harnesses h on h.source = k.source and h.harness_id = coalesce(c.harness_id, '')
left join event_rows e on e.source = k.source and e."row" = k.call_row
where k.result_position is null and k.outcome = 'unknown' and k.consequential and h.source is null
group by k.source, k.conversation_id, k.turn
