-- What checks may read of the asked server. `asked_answers` holds its answers; parameter:
-- $generation, whose schema it decodes with.
create or replace temp table answers as select * from asked_answers;

-- The first row that it cannot decode of each conversation that it cannot read.
create or replace temp table unreadable_rows as
with hidden as (
    select n.*
    from conversation_numbers n
    join asked_answers a on a.source = n.source and a.conversation_id = n.conversation_id
    where a.empty = 'unreadable'
)
select
    k.source,
    k.conversation_id,
    arg_min(k.step, struct_pack(p := k.position, r := k."row")) as step,
    arg_min(k.digest, struct_pack(p := k.position, r := k."row")) as digest
from (
    select e.source, e."row", n.conversation_id, e.step, e.position, e.digest, e.fast, e.config, e.shape
    from event_rows e
    join hidden n on n.source = e.source and n.conversation = e.conversation
    union all
    select j.source, j."row", j.conversation_id, j.step, j.position, j.digest, false, null, ''
    from rejects j
    join hidden n on n.source = j.source and n.conversation_id = j.conversation_id
    where j.visible
) k
left join readings r on r.source = k.source and r."row" = k."row" and r.generation = $generation
where r.readable = false
    -- On the fast path only a configuration of the other kind stops a generation.
    or k.fast and k.config is not null and k.shape <> 'G8' and $generation in ('G4', 'G5', 'G6', 'G7')
        and starts_with(k.config, '{') <> ($generation <> 'G4')
group by k.source, k.conversation_id;
