-- The same of turns that G3 wrote: who ran one, and with which configuration, stands in the first row of
-- its execution. Parameter: $source.
insert into configured
select n.conversation, t.turn, t.input_step, nullif(told.config, ''), true, told.agent_id
from turns t
join conversation_numbers n on n.source = t.source and n.conversation_id = t.conversation_id
join event_rows l on l.source = t.source and l."row" = t.last_row
join (
    select exec_id, min(struct_pack(r := "row", agent_id := agent_id, config := config)) as told
    from executions where source = $source
    group by exec_id
) x on x.exec_id = l.exec_id
where t.source = $source and t.generation = 'G3';
