-- id: AX120
-- name: undecodable-row
-- severity: warning
-- empty without: rejects
--
-- A row that AX of the row's own generation cannot decode. It is not absent: it is there and its raw
-- bytes have a digest. The other rows of its conversation were read. Rows that are cut off, too
-- deep, too large or no text, and rows with a lone surrogate, a duplicate key or an unreadable key
-- have classes of their own.
select source, conversation_id, step, sentence, witness
from rejected_rows
where reason not in (
        'nested too deep', 'too large', 'invalid UTF-8', 'lone surrogate', 'duplicate key',
        'unreadable key', 'unreadable step'
    )
    and (source, "row") not in (select (source, "row") from torn_rows)
