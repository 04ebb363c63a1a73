-- id: AX212
-- name: approved-not-started
-- severity: info
-- empty without: questions
--
-- A person approved a question, and no call followed in the turn of the answer. What was approved
-- was not started, or its harness does not log what it runs: the outcome is unknown. A declined
-- question needs no call, and one that waits for its answer has not been acted on. The witness is the
-- answer.
with
-- The last call of a turn, or the last result of one: an approval before it may have led to it.
acts as (
    select source, conversation_id, turn, max(greatest(call_position, result_position)) as last_position
    from tool_calls
    group by source, conversation_id, turn
),
named as (
    select distinct source, conversation_id, turn, call_id from tool_calls
)
select
    q.source,
    q.conversation_id,
    e.step,
    format('the question at step {} was approved, and no call followed.', q.step) as sentence,
    [witness_row(e.step, e.digest)] as witness
from questions q
join event_rows e on e.source = q.source and e."row" = q.answer_row
left join acts a on a.source = q.source and a.conversation_id = q.conversation_id and a.turn = q.answer_turn
where q.outcome = 'approved'
    and coalesce(a.last_position <= e.position, true)
    -- A question can be about a call that was logged before it, under the call's own id.
    and not exists (
        select 1 from named k
        where k.source = q.source and k.conversation_id = q.conversation_id
            and k.turn = q.turn and k.call_id = q.question_id
    )
