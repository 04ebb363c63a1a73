-- The tools that each turn called. Parameter: $source.
create or replace temp table called as
select conversation_id, turn, min(call_step) as step, list_sort(list(distinct tool)) as tools
from tool_calls
where source = $source and tool <> ''
group by conversation_id, turn;
