-- Every conversation of a log with its actor and the snapshot that it would go on from.
with
acting as (
    select name, arg_min(actor, struct_pack(o := space <> 'ax', a := atespace)) as actor,
        arg_min(uid, struct_pack(o := space <> 'ax', a := atespace)) as uid,
        arg_min(state, struct_pack(o := space <> 'ax', a := atespace)) as state
    from known_actors group by name
)
select
    c.source,
    c.conversation_id,
    c.generations,
    coalesce(a.actor, case when m.actor_name is not null then coalesce(m.actor_atespace, 'ax') || '/' || m.actor_name end) as actor,
    coalesce(a.uid, m.actor_uid) as actor_uid,
    case when a.actor is not null then 'record' else m.actor_how end as actor_how,
    a.state as actor_state,
    m.snapshot,
    case when m.is_own_current then 'record' when m.is_newest then m.moment_how when m.snapshot is not null then 'only' end as snapshot_how,
    m.restorable,
    m.moment,
    t.last_seen,
    r.relation,
    r.named_snapshot,
    coalesce(x.context, []) as context
from conversations c
left join relations r on r.source = c.source and r.conversation_id = c.conversation_id
left join mapped m on m.source = r.bucket_source and m.snapshot = r.snapshot
left join acting a on a.name = c.conversation_id
left join log_times t on t.source = c.source and t.conversation_id = c.conversation_id
left join (
    -- What the last turn ran with.
    select source, conversation_id,
        list(struct_pack(part := part, fingerprint := fingerprint, shown := shown, how := how)
            order by part, fingerprint) as context
    from contexts k
    where part <> 'tool' and turn = (
        select max(turn) from contexts m where m.source = k.source and m.conversation_id = k.conversation_id
    )
    group by source, conversation_id
) x on x.source = c.source and x.conversation_id = c.conversation_id
order by c.source, c.conversation_id;
