-- Who ran the first execution of each conversation, as G3's execution_log says. Parameter: $source.
select n.conversation_id, x.agent_id
from (
    select conversation, arg_min(exec_id, struct_pack(p := position, r := "row")) as exec_id
    from event_rows
    where source = $source
    group by conversation
) f
join conversation_numbers n on n.source = $source and n.conversation = f.conversation
join (
    select exec_id, arg_min(agent_id, "row") as agent_id
    from executions
    where source = $source and state = 1
    group by exec_id
) x on x.exec_id = f.exec_id
where coalesce(x.agent_id, '') <> '';
