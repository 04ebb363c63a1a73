-- id: AX218
-- name: result-in-later-turn
-- severity: warning
-- empty without: tool_calls
--
-- A call has no result in its own turn, and a later turn holds one under its id. The turn ended while
-- the call was open and its tool answered late, or rows were put into another order, or the result is
-- that of a later call that was lost. Ids begin again in each turn with some harnesses, so the pairing
-- is a guess.
select
    k.source,
    k.conversation_id,
    k.result_step as step,
    format('the result at step {} stands in a later turn than its call at step {}.', k.result_step, k.call_step) as sentence,
    [
        witness_row(k.call_step, e.digest),
        witness_row(k.result_step, f.digest)
    ] as witness
from tool_calls k
join turns t on t.source = k.source and t.conversation_id = k.conversation_id and t.turn = k.turn
left join event_rows e on e.source = k.source and e."row" = k.call_row
left join event_rows f on f.source = k.source and f."row" = k.result_row
where k.result_position > t.last_position
