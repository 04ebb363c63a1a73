-- id: AX116
-- name: foreign-end
-- severity: info
-- only with: odd_ends
--
-- A row says FAILED or CANCELED. AX reads it as the end of a turn and never writes it: it ends every
-- turn as COMPLETED, or leaves it open. Somebody closed the turn by hand, or with another program.
select
    e.source,
    n.conversation_id,
    e.step,
    format('step {} ends its turn as {}, which AX itself does not write.', e.step, case e.state when 2 then 'FAILED' else 'CANCELED' end) as sentence,
    [witness_row(e.step, e.digest)] as witness
from event_rows e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
where e.state in (2, 4)
