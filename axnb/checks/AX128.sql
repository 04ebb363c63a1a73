-- id: AX128
-- name: big-number
-- severity: info
-- empty without: oddities
--
-- A number of a call, a result or a configuration is 2^53 or more. AX keeps such numbers as doubles,
-- where neighbouring whole numbers are one: what was 9007199254740993 is 9007199254740992 in the log.
-- As a key into a ledger it names several candidates; never match by it alone.
select source, conversation_id, step, format('the number at {} is 2^53 or more: in a double field it may have been another one.', path) as sentence, witness
from odd_rows
where kind = 'big-number'
