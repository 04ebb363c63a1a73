-- What checks may read of the asked server. `asked_answers` holds its answers, with the owner that it
-- decodes and the harness that it would ask. Parameters: $generation, whose schema it decodes with;
-- $asked, what people call it; $has_owners, whether its rows have owners at all.
create or replace temp table answers as select *, $has_owners as has_owners from asked_answers;

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

-- Fields that AX reads over. What a generation drops from a row follows from the row's shape; keys that
-- no generation has a field for were found when the row was decoded.
create or replace temp table dropped_fields as
with
held as (
    select *, unnest(list_filter(
        case
            when shape in ('exec', 'G5', 'G6') then [
                case when has_exec then 'exec_id' end, case when has_owner then 'harness_id' end,
                case when has_config then 'harness_config' end, case when has_content then 'messages' end
            ]
            when shape = 'G8' then [
                case when has_owner then 'agent_id' end, case when has_config then 'agent_config' end,
                case when has_content then 'steps' end
            ]
            else [
                case when has_owner then 'harness_id' end, case when has_config then 'harness_config' end,
                case when has_content then 'steps' end
            ]
        end,
        lambda field: field is not null
    )) as field
    from row_shapes
),
known as (
    select generation, unnest(fields) as field
    from (
        values
            ('G3', ['exec_id', 'messages']),
            ('G4', ['exec_id', 'harness_id', 'harness_config', 'messages']),
            ('G5', ['exec_id', 'harness_id', 'harness_config', 'messages']),
            ('G6', ['exec_id', 'harness_id', 'harness_config', 'messages']),
            ('G7', ['harness_id', 'harness_config', 'steps']),
            ('G8', ['agent_id', 'agent_config', 'steps'])
    ) as fields_of(generation, fields)
),
found as (
    select h.source, h.field as path, $asked as reader, sum(h.rows) as rows, min(h.lowest) = max(h.highest) as is_one,
        arg_min(h.first, h.first) as first
    from held h
    where not exists (select 1 from known k where k.generation = $generation and k.field = h.field)
    group by h.source, h.field
    union all
    select o.source, o.path, 'AX', count(*), min(n.conversation) = max(n.conversation),
        arg_min(struct_pack(c := n.conversation, s := o.step, d := o.digest), o."row")
    from oddities o
    join conversation_numbers n on n.source = o.source and n.conversation_id = o.conversation_id
    -- A known relative of AX has a field of its own there.
    join sources s on s.source = o.source
    semi join asked_answers a on a.source = o.source and a.conversation_id = o.conversation_id
    where o.kind = 'dropped-field' and not (s.variant is not distinct from 'checkpointd' and o.path = '$.session_id')
    group by o.source, o.path
)
select
    f.source,
    case when f.is_one then n.conversation_id end as conversation_id,
    case when f.is_one then f.first.s end as step,
    format('{} drops {} of {}.', f.reader, f.path, case when f.rows = 1 then '1 row' else f.rows || ' rows' end) as sentence,
    [witness_row(f.first.s, f.first.d)] as witness
from found f
join conversation_numbers n on n.source = f.source and n.conversation = f.first.c;
