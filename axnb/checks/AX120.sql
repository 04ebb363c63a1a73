-- id: AX120
-- name: undecodable-row
-- severity: warning
--
-- A row that AX of the row's own generation cannot decode, or whose number or conversation cannot
-- be read. It is not absent: it is there and its raw bytes have a digest. The other rows of its
-- conversation were read.
select
    source,
    conversation_id,
    step,
    format('row {} cannot be read: {}{}.', "row", reason, case when detail <> '' then ' (' || detail || ')' else '' end) as sentence,
    [struct_pack(step := step, digest := lower(hex(digest)))] as witness
from rejects
