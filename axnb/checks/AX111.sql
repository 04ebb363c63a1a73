-- id: AX111
-- name: input-inside-turn
-- severity: warning
--
-- An input row stands inside a turn that an earlier input began. Two writers ran the conversation
-- at once, or the earlier turn was interrupted and a later request was put behind it: by a server
-- that never finishes an interrupted turn (G4), or by one whose harness took an empty start. Which
-- of these it was cannot be told from the log, and neither can which output answers which input.
select
    i.source,
    n.conversation_id,
    min(i.step) as step,
    case
        when count(*) = 1 then format('turn {} holds a second input, at step {}.', t.turn, min(i.step))
        else format('turn {} holds {} more inputs, the first at step {}.', t.turn, count(*), min(i.step))
    end as sentence,
    list(struct_pack(step := i.step, digest := lower(hex(i.digest))) order by i.position, i."row") as witness
from input_rows i
join conversation_numbers n on n.source = i.source and n.conversation = i.conversation
join turns t on t.source = i.source and t.conversation_id = n.conversation_id
    and i.position between t.first_position and t.last_position
where i.position > t.first_position
    -- Before owners had names, only the role of an input tells it; an answer to a question is none.
    and (i.names_owner or t.generation in ('G3', 'G4', 'G5', 'G5|G5b'))
group by i.source, n.conversation_id, t.turn
