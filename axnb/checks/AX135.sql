-- id: AX135
-- name: unknown-state
-- severity: warning
-- empty without: oddities
--
-- The state of a row is none that AX knows, or is absent. AX reads it as no state at all, without a
-- word: the row neither ends a turn nor opens one, whatever its writer meant.
select source, conversation_id, step, format('the row has no state that AX knows ({}): AX reads it as none.', path) as sentence, witness
from odd_rows
where kind = 'unknown-state'
