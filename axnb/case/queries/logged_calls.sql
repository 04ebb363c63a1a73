-- Calls of a log whose repetition would have consequences, with the rows of the call and of its
-- result. Parameter: $source.
select conversation_id, call_step, result_step, tool, operation_id, outcome
from tool_calls
where source = $source and consequential
order by conversation_id, call_position, part;
