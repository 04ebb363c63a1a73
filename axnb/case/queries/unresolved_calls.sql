-- Calls whose outcome the log does not tell, in order. Parameter: $ids of conversations, or NULL for
-- all.
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
    and ($ids::varchar[] is null or conversation_id in (select unnest($ids::varchar[])))
order by source, conversation_id, call_position, part;
