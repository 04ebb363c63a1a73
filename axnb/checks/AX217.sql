-- id: AX217
-- name: done-without-approval
-- severity: warning
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
        struct_pack(step := k.call_step, digest := lower(hex(e.digest))),
        struct_pack(step := k.result_step, digest := lower(hex(f.digest)))
    ] as witness
from tool_calls k
join questions q on q.source = k.source and q.conversation_id = k.conversation_id
    and q.turn = k.turn and q.question_id = k.call_id and k.call_id <> ''
left join events e on e.source = k.source and e.conversation_id = k.conversation_id
    and e.position = k.call_position
left join events f on f.source = k.source and f.conversation_id = k.conversation_id
    and f.position = k.result_position
where k.outcome = 'completed'
    and not exists (
        select 1 from careful_parts a
        where a.source = q.source and a.conversation_id = q.conversation_id and a.call_id = q.question_id
            and a.decision = 'approved' and a.position > q.position and a.position < k.result_position
    )
