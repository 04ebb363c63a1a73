-- What belongs to what, by whose word.

-- Records' snapshots with the prefix that they name: by URI, else by the name that a snapshot has.
create or replace view named_snapshots as
select
    r.*,
    s.source as bucket_source,
    s.snapshot as prefix,
    case when s.snapshot is null then null when r.snapshot is not null then 'record' else 'name' end as how
from record_snapshots r
left join (
    select s.source, s.snapshot, s.name, lower(translate(s.name, ':+', '--')) as resource_name, b.bucket
    from snapshots s join bucket_scopes b using (source)
) s on (r.snapshot is not null and s.snapshot = r.snapshot and (s.bucket is null or s.bucket = r.bucket))
    or (r.snapshot is null and r.uri_reason is null and r.snapshot_name in (s.name, s.resource_name));

-- Whose a snapshot is, as each of its witnesses says.
create or replace view told_owners as
-- What a clone borrows is another's: only a snapshot's own record, and an actor that is none, tell.
select n.bucket_source as source, n.prefix as snapshot, 'record' as how,
    split_part(n.actor, '/', 1) as atespace, substr(n.actor, strpos(n.actor, '/') + 1) as name, n.actor_uid as uid,
    case n.kind when 'snapshot' then 0 else 1 end as rank, n.source as record_source
from named_snapshots n
left join actors a on a.source = n.source and n.kind = 'actor' and a.atespace = n.space and a.name = n.name
    and a.uid is not distinct from n.uid
where n.prefix is not null and n.actor is not null and n.role <> 'local'
    and (n.kind = 'snapshot' or a.source_tag is null)
union all
select source, snapshot, 'manifest', manifest_atespace, manifest_actor, manifest_actor_uid, 2, null
from snapshots where manifest_actor is not null or manifest_actor_uid is not null
union all
select s.source, s.snapshot, case when a.name is null then 'key' else 'record' end,
    coalesce(a.atespace, s.key_atespace), coalesce(a.name, s.key_actor), s.key_actor_uid, 3, a.source
from snapshots s
left join actors a on a.uid = s.key_actor_uid
where s.key_actor is not null or s.key_actor_uid is not null;

-- By each word the first that has it.
create or replace view snapshot_owners as
select source, snapshot,
    arg_min(name, rank) filter (name is not null and name <> '') as name,
    arg_min(how, rank) filter (name is not null and name <> '') as how,
    arg_min(atespace, rank) filter (coalesce(atespace, '') <> '') as atespace,
    arg_min(uid, rank) filter (coalesce(uid, '') <> '') as uid
from told_owners
group by source, snapshot;

-- Templates: the snapshot's own record, the actor's, the manifest.
create or replace view snapshot_templates as
with told as (
    select bucket_source as source, prefix as snapshot, template, template_uid, 'record' as how,
        case kind when 'snapshot' then 0 when 'template' then 1 else 2 end as rank
    from named_snapshots where prefix is not null and role <> 'local' and (template is not null or template_uid is not null)
    union all
    select o.source, o.snapshot, a.template, null, 'record', 4
    from snapshot_owners o
    join actors a on a.name = o.name and a.atespace = coalesce(o.atespace, a.atespace)
        and (o.uid is null or a.uid is null or a.uid = o.uid)
    union all
    select source, snapshot, manifest_template, null, 'manifest', 3 from snapshots where manifest_template is not null
)
select source, snapshot,
    arg_min(template, rank) filter (template is not null) as template,
    arg_min(how, rank) filter (template is not null) as how,
    arg_min(template_uid, rank) filter (template_uid is not null) as template_uid
from told group by source, snapshot;

-- When a snapshot was taken, by what tells it best; a folder's times are those of a copy.
create or replace view snapshot_times as
select s.source, s.snapshot,
    coalesce(s.taken_at, s.named_at, r.created, case when b.has_times then s.newest end) as taken_at,
    case
        when s.taken_at is not null then 'checkpoint' when s.named_at is not null then 'key'
        when r.created is not null then 'record' when b.has_times and s.newest is not null then 'store'
    end as how,
    r.generation
from snapshots s
join bucket_scopes b using (source)
left join (
    select bucket_source, prefix, max(created) filter (kind = 'snapshot') as created, max(generation) as generation
    from named_snapshots where prefix is not null group by all
) r on r.bucket_source = s.source and r.prefix = s.snapshot;

-- One row a snapshot.
create or replace view snapshot_links as
select
    s.*,
    o.atespace as actor_atespace,
    o.name as actor_name,
    o.uid as actor_uid,
    o.how as actor_how,
    t.template, t.template_uid, t.how as template_how,
    k.taken_at as moment, k.how as moment_how, k.generation as number,
    n.roles,
    n.record_content,
    n.statuses,
    n.is_named,
    case
        -- AX names an actor after the conversation, in its own atespace.
        when coalesce(s.is_golden, false) or s.key_tag_uid is not null then null
        when coalesce(o.atespace, 'ax') = 'ax' then o.name
        when o.name in (select conversation_id from conversations) then o.name
    end as conversation_id
from snapshots s
left join snapshot_owners o using (source, snapshot)
left join snapshot_templates t using (source, snapshot)
left join snapshot_times k using (source, snapshot)
left join (
    select bucket_source, prefix, list(distinct kind || ':' || role order by kind || ':' || role) as roles,
        max(content) filter (content is not null) as record_content,
        list(distinct status order by status) filter (status is not null) as statuses,
        true as is_named
    from named_snapshots where prefix is not null and role <> 'local'
    group by all
) n on n.bucket_source = s.source and n.prefix = s.snapshot;

-- The map: a conversation, its actor, its snapshots, their template, image and runtime, with how each
-- link is known (record, manifest, key, name or none). `axnb map` also says what can be restored.
create or replace view state_map as
select
    coalesce(l.conversation_id, c.conversation_id) as conversation_id,
    c.source as log,
    c.generations as ax_generations,
    coalesce(l.actor_atespace, a.atespace) as atespace,
    coalesce(l.actor_name, a.name) as actor,
    coalesce(l.actor_uid, a.uid) as actor_uid,
    coalesce(l.actor_how, case when a.name is not null then 'name' else 'none' end) as actor_how,
    a.state as actor_state,
    l.source as bucket,
    l.snapshot,
    l.generation as layout,
    l.moment as taken_at,
    l.template,
    l.template_uid,
    coalesce(l.template_how, 'none') as template_how,
    i.images,
    case when i.images is null then 'none' when l.template_uid is null then 'name' else 'record' end as image_how,
    l.sandbox_class,
    l.runsc_version,
    r.runtimes,
    case when r.runtimes is null then 'none' else 'manifest' end as runtime_how,
    x.fingerprint as context
from snapshot_links l
full outer join conversations c on c.conversation_id = l.conversation_id
left join actors a on a.name = coalesce(l.actor_name, c.conversation_id)
    and a.atespace = coalesce(l.actor_atespace, 'ax') and (l.actor_uid is null or a.uid is null or a.uid = l.actor_uid)
left join (
    select space || '/' || template as template, uid, list(distinct coalesce(digest, image) order by coalesce(digest, image)) as images
    from template_containers group by all
) i on i.template = l.template and (l.template_uid is null or i.uid is null or i.uid = l.template_uid)
left join (
    select source, snapshot, list(name || '@sha256:' || sha256 order by name) as runtimes
    from snapshot_assets where sha256 is not null group by all
) r on r.source = l.source and r.snapshot = l.snapshot
left join (
    select source, conversation_id, arg_max(fingerprint, turn) as fingerprint
    from contexts where part = 'config' and turn is not null group by all
) x on x.source = c.source and x.conversation_id = c.conversation_id;
