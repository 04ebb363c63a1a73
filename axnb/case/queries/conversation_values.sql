-- Payloads of some rows of one conversation, for somebody who asked to see them: text, arguments or
-- result of each part; of a row that cannot be read (part 0) its raw bytes, if they were kept.
-- Parameters: $source, $id, $rows.
select "row", part, coalesce("text", arguments, result) as "value", cast(null as blob) as raw
from parts
where source = $source and conversation_id = $id and "row" in (select unnest($rows::bigint[]))
union all
select "row", 0, null, raw
from rejects
where source = $source and conversation_id = $id and "row" in (select unnest($rows::bigint[]));
