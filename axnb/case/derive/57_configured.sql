-- The last row of each turn that names an owner or a configuration: nothing but an input does. G4 puts
-- the input after an interrupted turn into no new turn, but under a new exec_id: what an earlier one
-- named is not in force. Parameter: $source.
insert into configured
select conversation, turn, told.step, told.config, told.is_base64, told.harness_id
from (
    select
        p.conversation, p.turn,
        max(struct_pack(
            p := e.position, r := e."row", step := e.step, config := e.config,
            is_base64 := e.shape = 'exec', harness_id := e.harness_id
        )) as told
    from event_rows e
    join placed p on p."row" = e."row"
    where e.source = $source
        and (e.harness_id is not null or e.config is not null)
        and (e.exec_id is null or e.exec_id in (
            select l.exec_id
            from turns t
            join event_rows l on l.source = t.source and l."row" = t.last_row
            where t.source = $source and l.exec_id is not null
        ))
    group by p.conversation, p.turn
);
