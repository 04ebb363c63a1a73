-- Questions of one conversation. Parameters: $source, $id.
select position, question_id, outcome from questions where source = $source and conversation_id = $id;
