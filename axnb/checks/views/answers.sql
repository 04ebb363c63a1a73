-- What checks may read of the asked server. `asked_answers` holds its answers; parameter:
-- $generation, whose schema it decodes with.
create or replace temp table answers as select * from asked_answers;

-- The first row of a conversation that it cannot decode.
create or replace temp table unreadable_rows as
select
    k.source,
    k.conversation_id,
    arg_min(k.step, struct_pack(p := k.position, r := k."row")) as step,
    arg_min(k.digest, struct_pack(p := k.position, r := k."row")) as digest
from (
    select source, "row", conversation_id, step, position, digest, route = 'fast' as fast, config, shape
    from events
    union all
    select source, "row", conversation_id, step, position, digest, false, null, ''
    from rejects where visible
) k
left join readings r on r.source = k.source and r."row" = k."row" and r.generation = $generation
where r.readable = false
    -- On the fast path only a configuration of the other kind stops a generation.
    or k.fast and k.config is not null and k.shape <> 'G8' and $generation in ('G4', 'G5', 'G6', 'G7')
        and starts_with(k.config, '{') <> ($generation <> 'G4')
group by k.source, k.conversation_id;
