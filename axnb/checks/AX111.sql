-- id: AX111
-- name: input-inside-turn
-- severity: warning
--
-- An input row stands inside a turn that has begun before it. Two writers ran the conversation at
-- once, or the turn was interrupted and a later request was put behind it: by a server that never
-- finishes an interrupted turn (G4), or by one whose harness took an empty start. Which of these it
-- was cannot be told from the log, and neither can which output answers which input. The witness is
-- the first such input.
select
    i.source,
    n.conversation_id,
    arg_min(i.step, i.position) as step,
    case
        when count(*) = 1 then format('turn {} has an input inside it, at step {}.', t.turn, min(i.step))
        else format('turn {} has {} inputs inside it, the first at step {}.', t.turn, count(*), arg_min(i.step, i.position))
    end as sentence,
    [arg_min(witness_row(i.step, i.digest), i.position)] as witness
from input_rows i
join conversation_numbers n on n.source = i.source and n.conversation = i.conversation
asof join turns t on t.source = i.source and t.conversation_id = n.conversation_id
    and i.position >= t.first_position
where i.position > t.first_position
    -- Before owners had names, only the role of an input tells it; an answer to a question is none.
    and (i.names_owner or t.generation in ('G3', 'G4', 'G5', 'G5|G5b'))
group by i.source, n.conversation_id, t.turn
