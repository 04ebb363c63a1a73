-- The parts of one conversation in order. Parameters: $source, $id.
select * from parts where source = $source and conversation_id = $id order by position, "row", part;
