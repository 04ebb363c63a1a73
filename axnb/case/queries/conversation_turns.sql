-- Turns of one conversation, in order. Parameters: $source, $id.
select turn, first_position
from turns
where source = $source and conversation_id = $id
order by turn;
