-- id: AX124
-- name: invalid-utf8
-- severity: warning
-- empty without: rejects
--
-- A payload holds bytes that are no UTF-8. AX writes none: a page was damaged, or another program
-- wrote the row. JSON has no other encoding, so no reader can say what the row says.
select source, conversation_id, step, sentence, witness
from rejected_rows
where reason = 'invalid UTF-8'
