-- id: AX133
-- name: torn-row
-- severity: warning
-- empty without: rejects
--
-- The last row of a conversation is cut off: its text ends before its JSON does. A copy was cut
-- short, or a write was. The rows before it are whole; a plan that takes this row out leaves a
-- history that AX reads. A row that ends too early in the middle of a conversation is AX120.
select source, conversation_id, step, sentence, witness
from rejected_rows
where reason = 'ends too early'
    and (source, "row") in (select (source, "row") from torn_rows)
