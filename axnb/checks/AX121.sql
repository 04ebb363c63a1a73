-- id: AX121
-- name: unreadable-conversation
-- severity: error
-- needs: answers
-- only with: unreadable
--
-- The asked server decodes every row of a conversation before it does anything, and one row that
-- fails hides all of it: every request fails, for ever, with or without input. The witness is the
-- first row that fails. Other generations may read the same row without complaint.
select
    a.source,
    a.conversation_id,
    w.step as step,
    format('{} cannot decode the row at step {}.', $asked, coalesce(cast(w.step as varchar), 'unknown')) as sentence,
    [witness_row(w.step, w.digest)] as witness
from answers a
left join unreadable_rows w on w.source = a.source and w.conversation_id = a.conversation_id
where a.empty = 'unreadable'
