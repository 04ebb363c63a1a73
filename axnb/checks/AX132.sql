-- id: AX132
-- name: number-at-odds
-- severity: warning
-- empty without: oddities
--
-- The payload of a row names another number than its key, or none. Up to G6, AX writes the number
-- into the payload and reads the key alone, so the row was renumbered or moved: its place in the
-- conversation is not the one it was written at.
select source, conversation_id, step, format('the payload names another number than its key, or none ({}).', path) as sentence, witness
from odd_rows
where kind = 'other-number'
