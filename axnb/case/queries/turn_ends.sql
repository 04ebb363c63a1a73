-- The turns of the conversations of a log, in order: where each begins and ends. Parameter: $source.
select conversation_id, turn, first_step, last_step, ended
from turns
where source = $source
order by conversation_id, turn;
