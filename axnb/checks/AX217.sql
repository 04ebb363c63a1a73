-- id: AX217
-- name: done-without-approval
-- severity: warning
-- empty without: tool_calls, questions
--
-- A person was asked about a call, and its result stands there without an approval before it: the
-- answer was no, or came later, or never. Either the harness did not wait, or the answer was changed.
-- The result speaks of a success; one that only says that the call was refused is none.
select
    k.source,
    k.conversation_id,
    k.result_step as step,
    format('the call at step {} has a result, and {}.', k.call_step,
        case q.outcome
            when 'declined' then 'a person declined it'
            when 'approved' then 'a person approved it only later'
            else 'no person has answered the question about it'
        end) as sentence,
    [
        witness_row(k.call_step, e.digest),
        witness_row(k.result_step, f.digest)
    ] as witness
from tool_calls k
join questions q on q.source = k.source and q.conversation_id = k.conversation_id
    and q.turn = k.turn and q.question_id = k.call_id and k.call_id <> ''
left join event_rows e on e.source = k.source and e."row" = k.call_row
left join event_rows a on a.source = q.source and a."row" = q.answer_row
left join event_rows f on f.source = k.source and f."row" = k.result_row
where k.outcome = 'completed' and (q.outcome <> 'approved' or a.position > k.result_position)
