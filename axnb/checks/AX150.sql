-- id: AX150
-- name: unowned-turn
-- severity: warning
-- only with: turns_without_harness
--
-- The input of a turn names no owner. From G6 on AX writes the harness's name on every input, and before
-- that on every input of a conversation or on none of them. So another program wrote the row, or
-- somebody took the name out, or put it into another row. AX goes by the first name that any
-- row holds; a conversation in which none does is open to whichever harness comes first.
select
    t.source,
    t.conversation_id,
    t.input_step as step,
    format('the input of turn {} names no harness.', t.turn) as sentence,
    [witness_row(e.step, e.digest)] as witness
from turns t
join event_rows e on e.source = t.source and e."row" = t.first_row
where t.input_step is not null and t.harness_id is null
    and (
        t.generation in ('G6', 'G7', 'G8')
        or (t.source, t.conversation_id, t.generation) in (
            select (source, conversation_id, generation) from turns where harness_id is not null
        )
    )
