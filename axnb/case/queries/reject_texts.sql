-- The same for rows that AX does not decode: of a large one there is no text, and without its id a row
-- belongs to conversation -1. Parameters: $source, $first, $last.
select
    r."row", coalesce(n.conversation, -1) as conversation, r.step, r.visible, r.digest as text_digest,
    r.raw as "text", coalesce(octet_length(r.raw), 0) as size
from rejects r
left join conversation_numbers n on n.source = r.source and n.conversation_id = r.conversation_id
where r.source = $source and coalesce(n.conversation, -1) between $first and $last
