-- Rows of some conversations of a log that AX decodes, with their texts. Parameters: $source, $first,
-- $last (numbers of conversations).
select "row", conversation, step, visible, digest as text_digest, payload as "text", strlen(payload) as size
from event_rows
where source = $source and conversation between $first and $last
