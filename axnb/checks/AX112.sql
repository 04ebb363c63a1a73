-- id: AX112
-- name: empty-input
-- severity: warning
-- only with: empty_inputs
--
-- A pending row without any content. G4 leaves one behind for every empty request, on any
-- conversation, and then fails: the conversation is interrupted from there on. In a log of G3 it is
-- the trace of an empty request, which ran the agent once more on the whole history, effects
-- included. Later generations write none.
select
    e.source,
    n.conversation_id,
    e.step,
    format('step {} is an input without content, as an empty request leaves behind.', e.step) as sentence,
    [witness_row(e.step, e.digest)] as witness
from event_rows e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
where e.state = 1 and e.content_count = 0
    -- While a question waits, G3 logs such a row each time it has put the question.
    and not exists (
        select 1 from questions q
        where q.source = e.source and q.conversation_id = n.conversation_id
            and e.shape = 'exec' and q.position = e.position - 1
    )
