-- Texts of the rows of a log: its payloads, or its configurations. Parameters: $source, $held.
select "row", conversation, null::varchar as conversation_id, step, shape = 'exec' and $held = 'config' as is_base64,
    case $held when 'config' then config else payload end as value,
    strlen(case $held when 'config' then config else payload end) as size
from event_rows
where source = $source and ($held = 'payload' or config is not null)
