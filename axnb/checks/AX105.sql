-- id: AX105
-- name: exact-duplicate
-- severity: warning
-- empty without: compared
--
-- Rows of one conversation share a number and say the same, whatever their spelling. AX's own
-- table has a key that forbids it; a table without it was loaded twice, or restored into a log that
-- held the rows already. The witness is two of the rows.
select
    source,
    conversation_id,
    step,
    format('step {} is there {} times with the same content.', step, rows) as sentence,
    first_two as witness
from duplicates
where contents = 1
