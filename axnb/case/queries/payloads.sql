-- The payloads of some rows of a source. Parameters: $source, $rows.
select "row", payload
from event_rows
where source = $source and "row" in (select unnest(cast($rows as bigint[])));
