-- The payloads of the rows in `to_compare` (temp) that AX decodes. Parameter: $source.
select "row", payload
from event_rows
where source = $source and "row" in (select "row" from to_compare where part = 0);
