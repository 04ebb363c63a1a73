-- Rows of one conversation that its own generation cannot decode. Parameters: $source, $id.
select count(*) as "rows" from rejects where source = $source and conversation_id = $id;
