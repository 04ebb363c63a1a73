-- What belongs to what, by whose word.

-- Records' snapshots with the prefix that they name: by URI, else by the name that a snapshot has.
-- Names alone stand in records of late July and of August, and there the resource's name has neither
-- capitals nor `:` and `+`.
create or replace view named_snapshots as
with
held as (
    select s.source, s.snapshot, s.name, s.layout, b.bucket from snapshots s join bucket_scopes b using (source)
),
names as (
    select source, snapshot, name from held where layout in ('B2', 'B3')
    union
    select source, snapshot, lower(translate(name, ':+', '--')) from held where layout in ('B2', 'B3')
)
select r.*, s.source as bucket_source, s.snapshot as prefix, case when s.snapshot is not null then 'record' end as how
from record_snapshots r
left join held s on s.snapshot = r.snapshot and (s.bucket is null or s.bucket = r.bucket)
where r.snapshot is not null
union all
select r.*, n.source, n.snapshot, case when n.snapshot is not null then 'name' end
from record_snapshots r
left join names n on n.name = r.snapshot_name and r.uri_reason is null
where r.snapshot is null;

-- Whose a snapshot is, as each of its witnesses says, the best one first: its own record, an actor's
-- that agrees with the manifest or the keys, the manifest, the keys, an actor's that agrees with none.
-- What a clone borrows is another's, so its record tells nothing.
create or replace view told_owners as
select n.bucket_source as source, n.prefix as snapshot, 'record' as how,
    split_part(n.actor, '/', 1) as atespace, substr(n.actor, strpos(n.actor, '/') + 1) as name, n.actor_uid as uid,
    case
        when n.kind = 'snapshot' then 0
        when n.actor_uid in (s.manifest_actor_uid, s.key_actor_uid) or n.name in (s.key_actor, s.manifest_actor) then 1
        else 4
    end as rank,
    n.source as record_source
from named_snapshots n
join snapshots s on s.source = n.bucket_source and s.snapshot = n.prefix
left join actors a on a.source = n.source and n.kind = 'actor' and a.atespace = n.space and a.name = n.name
    and a.uid is not distinct from n.uid
where n.prefix is not null and n.actor is not null and n.role <> 'local'
    and (n.kind = 'snapshot' or a.source_tag is null)
union all
select source, snapshot, 'manifest', manifest_atespace, manifest_actor, manifest_actor_uid, 2, null
from snapshots where manifest_actor is not null or manifest_actor_uid is not null
union all
select s.source, s.snapshot, case when a.name is null then 'key' else 'record' end,
    coalesce(a.atespace, s.key_atespace, q.atespace), coalesce(a.name, s.key_actor), s.key_actor_uid, 3, a.source
from snapshots s
left join actors a on a.uid = s.key_actor_uid
-- Keys up to B1 name no atespace: it is the one that has an actor of the name, if there is one.
left join (
    select name, min(atespace) as atespace from actors group by name having count(distinct atespace) = 1
) q on q.name = s.key_actor
where s.key_actor is not null or s.key_actor_uid is not null;

-- By each word the first that has it.
create or replace view snapshot_owners as
select source, snapshot,
    arg_min(name, struct_pack(r := rank, t := name)) filter (name is not null and name <> '') as name,
    arg_min(how, struct_pack(r := rank, t := name)) filter (name is not null and name <> '') as how,
    arg_min(atespace, struct_pack(r := rank, t := atespace)) filter (coalesce(atespace, '') <> '') as atespace,
    arg_min(uid, struct_pack(r := rank, t := uid)) filter (coalesce(uid, '') <> '') as uid
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

-- When a snapshot was taken, by what tells it best. A folder's times are those of a copy. So are a
-- store's, if any of them is an hour later than what else tells, or than the last change of the record
-- that names the snapshot; then none of them is used. Copies that tags hold were made later anyway.
create or replace view snapshot_times as
with
recorded as (
    select n.bucket_source as source, n.prefix as snapshot,
        max(n.created) filter (n.kind = 'snapshot') as created,
        max(n.generation) as generation,
        min(a.updated) filter (n.kind = 'actor' and n."role" = 'latest') as updated
    from named_snapshots n
    left join actors a on a.source = n.source and n.kind = 'actor' and a.atespace = n.space and a.name = n.name
        and a.uid is not distinct from n.uid
    where n.prefix is not null
    group by all
),
told as (
    select s.source, s.snapshot, s.taken_at, s.named_at, r.created, r.generation, r.updated,
        case when b.has_times and s.key_tag_uid is null then s.newest end as stored_at
    from snapshots s
    join bucket_scopes b using (source)
    left join recorded r using (source, snapshot)
),
copies as (
    select distinct source from told
    where stored_at > coalesce(taken_at, named_at, created) + interval 1 hour or stored_at > updated + interval 1 hour
)
select t.source, t.snapshot,
    coalesce(taken_at, named_at, created, case when c.source is null then stored_at end) as taken_at,
    case
        when taken_at is not null then 'checkpoint' when named_at is not null then 'key'
        when created is not null then 'record' when c.source is null and stored_at is not null then 'store'
    end as how,
    generation
from told t
left join copies c using (source);

-- One row a snapshot. Up to B1 only records tell which is golden.
create or replace view snapshot_links as
with
named as (
    select bucket_source as source, prefix as snapshot, list(distinct kind || ':' || role order by kind || ':' || role) as roles,
        max(content) filter (content is not null) as record_content,
        list(distinct status order by status) filter (status is not null) as statuses,
        bool_or(kind = 'template' and role = 'golden') as is_golden,
        true as is_named
    from named_snapshots where prefix is not null and role <> 'local'
    group by all
),
found as (
    select s.* replace (case when n.is_golden or (s.layout = 'B0|B1' and g.golden_actor is not null) then true else s.is_golden end as is_golden),
        n.roles, n.record_content, n.statuses, n.is_named
    from snapshots s
    left join named n using (source, snapshot)
    left join (select distinct golden_actor from templates where golden_actor is not null) g on g.golden_actor = s.key_actor
)
select
    s.* exclude (roles, record_content, statuses, is_named),
    o.atespace as actor_atespace,
    o.name as actor_name,
    o.uid as actor_uid,
    o.how as actor_how,
    t.template, t.template_uid, t.how as template_how,
    k.taken_at as moment, k.how as moment_how, k.generation as number,
    s.roles,
    s.record_content,
    s.statuses,
    s.is_named,
    case
        -- AX names an actor after the conversation, in its own atespace; keys up to B1 hold none.
        when s.is_golden or s.key_tag_uid is not null then null
        when o.name in (select conversation_id from conversations) then o.name
        when coalesce(o.atespace, split_part(t.template, '/', 1), 'ax') = 'ax' then o.name
    end as conversation_id
from found s
left join snapshot_owners o using (source, snapshot)
left join snapshot_templates t using (source, snapshot)
left join snapshot_times k using (source, snapshot);

-- The current files of a snapshot, with those that are damaged and those that may not be what was written.
create or replace view snapshot_files as
select source, snapshot,
    list(file order by file) as present,
    list(file order by file) filter (state = 'damaged' or size = 0) as damaged,
    list(file order by file) filter (list_has_any(remarks, ['ends-in-a-hole', 'odd-content'])) as suspect
from snapshot_objects where "role" = 'file' and is_latest and not is_delete_marker
group by all;

-- The runtime files that its manifest pins.
create or replace view snapshot_runtimes as
select source, snapshot,
    list(struct_pack(name := name, url := url, sha256 := sha256, arch := arch) order by name) as assets
from snapshot_assets group by all;

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
    and coalesce(nullif(a.atespace, ''), 'ax') = coalesce(l.actor_atespace, 'ax') and (l.actor_uid is null or a.uid is null or a.uid = l.actor_uid)
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
