-- id: AX126
-- name: lone-surrogate
-- severity: warning
-- empty without: rejects
--
-- A text holds one half of a character that UTF-16 writes as two, as when an output was cut at a
-- number of units. AX refuses the whole conversation for it; readers that let it pass break later,
-- when they write the text as UTF-8.
select source, conversation_id, step, sentence, witness
from rejected_rows
where reason = 'lone surrogate'
