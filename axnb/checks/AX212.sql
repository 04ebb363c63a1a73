-- id: AX212
-- name: approved-not-started
-- severity: info
--
-- A person approved a question, and no call was logged in the turn of the answer. What was approved
-- was not started, or its harness does not log what it runs: the outcome is unknown. A declined
-- question needs no call, and one that waits for its answer has not been acted on.
with
answers_given as (
    select source, conversation_id, call_id,
        min(struct_pack(position := position, step := step, "row" := "row")) as first
    from careful_parts
    where kind = 'confirmation' and decision = 'approved'
    group by source, conversation_id, call_id
)
select
    q.source,
    q.conversation_id,
    a.first.step as step,
    format('the question at step {} was approved, and no call followed.', q.step) as sentence,
    [struct_pack(step := a.first.step, digest := lower(hex(e.digest)))] as witness
from questions q
join answers_given a on a.source = q.source and a.conversation_id = q.conversation_id
    and a.call_id = q.question_id
join turns t on t.source = q.source and t.conversation_id = q.conversation_id
    and a.first.position between t.first_position and t.last_position
left join event_rows e on e.source = q.source and e."row" = a.first."row"
where q.outcome = 'approved'
    and not exists (
        select 1 from tool_calls k
        where k.source = q.source and k.conversation_id = q.conversation_id
            and (k.turn = t.turn or k.call_id = q.question_id)
    )
