-- id: AX129
-- name: storage-drift
-- severity: warning
-- empty without: oddities
--
-- A column of the row has another storage class than AX gives it: a payload that is a BLOB, a number
-- that is text. Another program wrote or restored it. AX reads some of these as if nothing had
-- happened, sorts others after all numbers, and does not find a conversation whose id is a BLOB.
select source, conversation_id, step, format('the row is stored as {} where AX stores text,integer,text.', path) as sentence, witness
from odd_rows
where kind = 'storage-class'
