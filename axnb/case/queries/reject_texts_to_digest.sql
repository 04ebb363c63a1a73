-- Texts of the rows in `to_digest` that AX does not decode. Parameter: $source.
select "row", raw as "text", octet_length(raw) as size
from rejects
where source = $source and raw is not null and "row" in (select "row" from to_digest where source = $source)
