-- Rows that could not be read. Parameters: $source.
select "row", null::integer as conversation, conversation_id, step, false as is_base64,
    raw as value, octet_length(raw) as size
from rejects
where source = $source and raw is not null
