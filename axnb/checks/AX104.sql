-- id: AX104
-- name: conflicting-duplicate
-- severity: error
-- empty without: compared
--
-- Rows of one conversation share a number and say different things, or things that cannot be
-- compared. AX's own table has a key that forbids it, so the rows come from a table without it, or
-- from two logs put into one. Which of them AX reads first is not defined, and no row is the better
-- one by itself. The witness is two rows that differ.
select
    source,
    conversation_id,
    step,
    format('step {} is there {} times{}.', step, rows,
        case when has_unread then ', and what it says cannot be compared' else ' with different content' end) as sentence,
    differing as witness
from duplicates
where contents > 1
