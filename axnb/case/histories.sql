-- What a server of one generation would decode from each conversation: the History of
-- ax/behaviour. What it drops from a row of the fast path follows from the row's shape; rows of the
-- careful path were decoded with every generation's own schema.
-- Parameters: $generation (one a schema), $owner_key, $content_key, $config_kind (none, text or
-- object: what it takes for a configuration under harness_config), $ids of conversations or NULL for
-- all. Numbers are compared before anything else, so that of a few conversations only their own
-- blocks are read; other conversations may come along where several sources are in the case.
with
asked as (
    select conversation from conversation_numbers
    where conversation_id in (select unnest($ids::varchar[]))
),
decoded as (
    select
        source, conversation, position, "row", visible,
        not (
            config is not null and $config_kind <> 'none' and shape <> 'G8'
            and starts_with(config, '{') <> ($config_kind = 'object')
        ) as readable,
        state,
        case when (shape = 'G8') = ($owner_key = 'agent_id') and $owner_key <> '' then harness_id end as owner,
        case when shape in ('exec', 'G5', 'G6') then exec_id end as exec_id,
        case when (shape in ('exec', 'G5', 'G6')) = ($content_key = 'messages')
            then content_count else 0 end as decoded,
        content_count as stored
    from event_rows
    where fast and ($ids::varchar[] is null or conversation in (select conversation from asked))
    union all
    select
        k.source, k.conversation, k.position, k."row", k.visible,
        r.readable, r.state, nullif(r.owner, ''), nullif(r.exec_id, ''), r.content_count, k.stored
    from (
        select source, conversation, position, "row", visible, content_count as stored
        from event_rows
        where not fast and ($ids::varchar[] is null or conversation in (select conversation from asked))
        union all
        -- What an undecodable row holds is what the generation sees that decodes most of it.
        select j.source, n.conversation, j.position, j."row", j.visible, max(r.content_count)
        from rejects j
        join readings r on r.source = j.source and r."row" = j."row"
        join conversation_numbers n on n.source = j.source and n.conversation_id = j.conversation_id
        where $ids::varchar[] is null or j.conversation_id in (select unnest($ids::varchar[]))
        group by all
    ) k
    join readings r on r.source = k.source and r."row" = k."row" and r.generation = $generation
),
told as (
    select
        source,
        conversation,
        case when bool_or(not readable) then false when bool_and(readable is not null) then true end as readable,
        coalesce(arg_max(state, struct_pack(p := position, r := "row")) filter (state <> 0), 0) as last_state,
        coalesce(arg_min(owner, struct_pack(p := position, r := "row")) filter (owner is not null), '') as owner,
        max(struct_pack(p := position, r := "row", e := coalesce(exec_id, ''))) filter (state = 1) as pending,
        sum(decoded) as decoded,
        sum(stored) as stored
    from decoded
    where visible
    group by source, conversation
),
-- G3: the last pending execution, unless a later row completes it.
completed as (
    select distinct d.source, d.conversation
    from decoded d
    join told t on t.source = d.source and t.conversation = d.conversation
    where $generation = 'G3' and d.visible and d.state = 3 and t.pending is not null
        and coalesce(d.exec_id, '') = t.pending.e
        and (d.position > t.pending.p or d.position = t.pending.p and d."row" > t.pending.r)
),
executed as (
    select source, exec_id, bool_or(state = 3) as closed, count(state) as known
    from executions
    where $generation = 'G3'
    group by source, exec_id
),
asking as (
    select distinct source, conversation_id from questions where outcome = 'awaiting-decision'
)
select
    c.source,
    c.conversation_id,
    t.readable,
    coalesce(t.last_state = 1, false) as pending,
    coalesce(t.owner, '') as owner,
    case
        when t.pending is null or t.pending.e = '' or done.conversation is not null then 'none'
        when coalesce(e.known, 0) = 0 then 'lost'
        when e.closed then 'closed'
        when a.conversation_id is not null then 'waiting'
        else 'open'
    end as execution,
    coalesce(t.decoded, 0) as decoded,
    coalesce(t.stored, 0) as stored,
    t.conversation is not null as seen
from conversations c
join conversation_numbers n on n.source = c.source and n.conversation_id = c.conversation_id
left join told t on t.source = n.source and t.conversation = n.conversation
left join completed done on done.source = n.source and done.conversation = n.conversation
left join executed e on e.source = c.source and e.exec_id = t.pending.e
left join asking a on a.source = c.source and a.conversation_id = c.conversation_id
where $ids::varchar[] is null or c.conversation_id in (select unnest($ids::varchar[]))
order by c.source, c.conversation_id;
