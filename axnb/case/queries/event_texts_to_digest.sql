-- Texts of the rows in `to_digest` that AX decodes. Parameter: $source.
select "row", payload as "text", strlen(payload) as size
from event_rows
where source = $source and "row" in (select "row" from to_digest where source = $source)
