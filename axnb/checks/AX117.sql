-- id: AX117
-- name: turn-without-input
-- severity: warning
-- only with: turns_without_input
--
-- A turn does not begin with an input. AX logs the input of a turn first and nothing without it, so
-- the input is gone, or another writer's end stands before the rest of this turn.
select
    t.source,
    t.conversation_id,
    e.step,
    format('turn {} has no input: it begins with an output or an end, at step {}.', t.turn, e.step) as sentence,
    [witness_row(e.step, e.digest)] as witness
from turns t
-- What the first row is must be known: a row that cannot be read may have been the input.
join event_rows e on e.source = t.source and e."row" = t.first_row
where t.input_step is null and t.ended <> 'unspecified'
