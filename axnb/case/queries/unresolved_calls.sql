-- Calls whose outcome the log does not tell, in order.
select
    source,
    conversation_id,
    call_step as step,
    tool,
    operation_id,
    operation_id_from,
    outcome,
    result_position is not null as answered,
    consequential
from tool_calls
where outcome in ('unknown', 'placeholder')
order by source, conversation_id, call_position, part;
