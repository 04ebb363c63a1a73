-- What some rows of one conversation hold, in order, without its text. Parameters: $source, $id,
-- $rows.
select "row", position, part, kind, "role", call_id, tool, is_error, signal, decision, size
from parts
where source = $source and conversation_id = $id and "row" in (select unnest($rows::bigint[]))
order by position, "row", part;
