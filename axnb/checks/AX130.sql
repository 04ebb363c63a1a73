-- id: AX130
-- name: index-at-odds
-- severity: info
-- empty without: oddities
--
-- A step names an index that is not its row's number. AX stores the index that a client or a harness
-- sent, and goes by the row's number alone; only who reads the index is misled.
select source, conversation_id, step, format('the step names another index than its row, at {}.', path) as sentence, witness
from odd_rows
where kind = 'step-index'
