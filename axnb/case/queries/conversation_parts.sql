-- What some rows of one conversation hold, in order, with the bytes of each text, arguments or
-- result, and without these. Parameters: $source, $id, $rows.
select "row", position, part, kind, "role", call_id, tool, is_error, signal, decision,
    coalesce(strlen(coalesce("text", arguments, result)), size) as size
from parts
where source = $source and conversation_id = $id and "row" in (select unnest($rows::bigint[]))
order by position, "row", part;
