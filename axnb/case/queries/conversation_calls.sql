-- The calls of one conversation. Parameters: $source, $id.
select * from tool_calls where source = $source and conversation_id = $id;
