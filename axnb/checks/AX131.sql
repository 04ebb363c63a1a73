-- id: AX131
-- name: other-id
-- severity: warning
-- empty without: oddities
--
-- The payload of a row names another conversation than its key, or none. AX goes by the key alone.
-- AX always writes both, so the row was moved or written by another program: it may belong to the
-- other conversation.
select source, conversation_id, step, format('the payload names another conversation than its key, or none ({}).', path) as sentence, witness
from odd_rows
where kind = 'other-id'
