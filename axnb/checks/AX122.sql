-- id: AX122
-- name: too-deep
-- severity: warning
-- empty without: rejects or oddities
--
-- A payload is nested deeper than readers go. AX gives up at 10,000 levels, and then the whole
-- conversation is unreadable; SQLite's own JSON functions, PostgreSQL's and Python's give up at
-- about a thousand, so a row that AX reads can still stop a migration or another program.
select source, conversation_id, step, sentence, witness
from rejected_rows
where reason = 'nested too deep'
union all
select source, conversation_id, step, format('the row is nested more than 500 levels deep, at {}.', path) as sentence, witness
from odd_rows
where kind = 'deep'
