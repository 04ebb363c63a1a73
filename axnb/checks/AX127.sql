-- id: AX127
-- name: duplicate-key
-- severity: warning
-- empty without: rejects or oddities
--
-- A key stands twice in one object. Parsers disagree which value counts: the first, the last, or
-- neither. AX refuses the row, and with it the conversation, unless it drops the whole object
-- without a look; then other programs read what AX does not.
select source, conversation_id, step, sentence, witness
from rejected_rows
where reason = 'duplicate key'
union all
select source, conversation_id, step, format('an object holds a key twice, and AX drops it unread: {}.', path) as sentence, witness
from odd_rows
where kind = 'duplicate-key'
