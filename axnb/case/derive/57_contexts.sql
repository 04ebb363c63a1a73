-- What each turn ran with: the last row of it that names an owner or a configuration says it; nothing
-- but an input does. G4 puts the input after an interrupted turn into no new turn, but under a new
-- exec_id: what an earlier one named is not in force. `context_parts` has the parts of each text.
-- Parameter: $source.
insert into contexts
select $source, n.conversation_id, turn, step, p.part, p.fingerprint, p.shown, 'row', harness_id
from (
    select
        conversation, turn, told.step, told.harness_id,
        unnest([
            struct_pack(kind := told.kind, text := told.config),
            struct_pack(kind := 'owner', text := told.harness_id)
        ]) as named
    from (
        select
            p.conversation, p.turn,
            max(struct_pack(
                p := e.position, r := e."row", step := e.step, config := e.config, harness_id := e.harness_id,
                kind := case when e.shape = 'exec' then 'base64' else 'json' end
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
    )
) c
join conversation_numbers n on n.source = $source and n.conversation = c.conversation
join context_parts p on p.kind = named.kind and p.text = named.text;
