-- The same of turns that G3 wrote: who ran one, and with which configuration, stands in the first row of
-- its execution. Parameter: $source.
insert into contexts
select $source, conversation_id, turn, step, p.part, p.fingerprint, p.shown, 'row', harness_id
from (
    select
        t.conversation_id, t.turn, t.input_step as step, told.agent_id as harness_id,
        unnest([
            struct_pack(kind := 'base64', text := told.config),
            struct_pack(kind := 'owner', text := told.agent_id)
        ]) as named
    from turns t
    join event_rows l on l.source = t.source and l."row" = t.last_row
    join (
        select exec_id, min(struct_pack(r := "row", agent_id := agent_id, config := config)) as told
        from executions where source = $source
        group by exec_id
    ) x on x.exec_id = l.exec_id
    where t.source = $source and t.generation = 'G3'
)
join context_parts p on p.kind = named.kind and p.text = named.text;
