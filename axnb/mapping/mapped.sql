-- What the checks of snapshots read: `linked` with what was judged (`judged` is registered: source,
-- snapshot, restorable, rule, because, code, reason). Parameters:
-- $writer, the layout of the target; $has_target, whether one is described at all.

-- Actors by name, with whether the exports tell that one is not there.
create or replace temp table known_actors as
select source, atespace, name, uid, placed(atespace, name) as actor, state, source_tag, updated, change,
    coalesce(nullif(atespace, ''), 'ax') as space,
    change in ('stable', 'changed', 'seen-once') as is_there
from actors;

-- Kinds of records that were exported, with where. One source holds all records of a case.
-- Actors of before there were atespaces are all that there are. A list without a record shows no
-- atespace: it is taken to be of those that the other lists show.
create or replace temp table searched as
select c.kind, max(c.exports) as exports,
    bool_or(c.everywhere or (c.kind = 'actor' and list_contains(c.spaces, ''))) as everywhere,
    flatten(list(case when len(c.spaces) > 0 then c.spaces else a.spaces end)) as spaces
from record_coverage c
cross join (select coalesce(flatten(list(spaces)), []) as spaces from record_coverage where exports > 0) a
where c.exports > 0 group by c.kind;

-- Buckets of which two listings were the same.
create or replace temp table stable_buckets as
select source from sources
where kind = 'bucket' and len(list_filter(incomplete, lambda t: contains(t, 'unstable listing'))) = 0;

-- Where a record's snapshot can be missed: what of which bucket was listed, twice the same. A folder
-- holds the bucket whose snapshots were found in it; if none was, it may be any that records name.
create or replace temp table looked_through as
select b.source, coalesce(b.bucket, f.bucket, a.bucket) as bucket, b.prefix
from bucket_scopes b
join stable_buckets using (source)
left join (select distinct bucket_source, bucket from named where prefix is not null and bucket is not null) f
    on b.bucket is null and f.bucket_source = b.source
left join (select distinct bucket from named where bucket is not null) a on b.bucket is null and f.bucket is null;

-- Snapshots that are not listed, and of which the store still holds a version.
create or replace temp table recoverable as
select distinct source, snapshot from snapshot_objects
where snapshot is not null and not is_latest and not is_delete_marker and "role" in ('file', 'manifest')
    and (source, snapshot) not in (select (source, snapshot) from linked);

-- What is being written, says an actor that is on its way to rest: by prefix, or by name alone.
create or replace temp table being_written as
select distinct n.bucket, n.snapshot, n.snapshot_name as name
from named n
join known_actors a on a.source = n.source and a.atespace = n.space and a.name = n.name and a.uid is not distinct from n.uid
where n.kind = 'actor' and n."role" = 'in-progress' and a.state in ('SUSPENDING', 'PAUSING');

create or replace temp table mapped as
with
base as (
    select l.*, $has_target as by_target, j.restorable, j.rule, j.because, j.code, j.reason,
        -- Of a snapshot without a manifest only the day tells whether it ought to have one.
        l.manifest = 'missing' and not (l.generation = 'B0' or (l.generation like 'B0|%' and coalesce($writer, '') = 'B0')) as is_torn,
        b.prefix is not null as is_being_written,
        coalesce(f.present, []) as present,
        coalesce(f.damaged, []) as broken
    from linked l
    join judged j using (source, snapshot)
    left join (
        select distinct n.bucket_source, n.prefix
        from named n
        join being_written w on w.snapshot is not distinct from n.snapshot and w.name is not distinct from n.snapshot_name
        where n.prefix is not null and n."role" = 'in-progress'
    ) b on b.bucket_source = l.source and b.prefix = l.snapshot
    left join snapshot_files f using (source, snapshot)
),
completed as (
    select *,
        case
            when is_torn or is_being_written then false
            when not list_has_all(present, expected) or list_has_any(broken, expected) then false
            -- A manifest that the store did not hand out may be sound.
            when manifest = 'unreadable' then case when manifest_reason = 'unreadable' then null else false end
            when expected_from = 'unknown' then null
            else true
        end as is_complete
    from base
),
-- Who starts from it; a clone starts from a snapshot of another actor.
currents as (
    select n.bucket_source as source, n.prefix as snapshot,
        max(placed(n.space, n.name)) as someone,
        max(placed(n.space, n.name)) filter (n.name = l.actor_name and coalesce(n.uid = l.actor_uid, true)) as owner
    from named n
    join linked l on l.source = n.bucket_source and l.snapshot = n.prefix
    where n.kind = 'actor' and n."role" = 'latest'
    group by all
),
-- Where no record says which is the newest, times do, if each has one.
newest as (
    select source, actor_atespace, actor_name,
        case when count(moment) = count(*) then arg_max(snapshot, moment) end as snapshot,
        count(*) as snapshots
    from completed
    where is_complete and actor_name is not null and key_tag_uid is null and not coalesce(is_golden, false)
    group by all
),
owners as (
    select source, actor_atespace, actor_name, true as has_current
    from completed join currents using (source, snapshot)
    where owner is not null
    group by all
)
select c.*,
    case when c.conversation_id in (select conversation_id from conversations) then c.conversation_id end as logged_id,
    r.someone is not null as is_current,
    coalesce(r.owner, r.someone) as current_of,
    r.owner is not null as is_own_current,
    coalesce(h.has_current, false) as has_current,
    r.someone is null and n.snapshot is not distinct from c.snapshot as is_newest,
    n.snapshot as newest_sibling,
    n.snapshots as siblings,
    -- In August a tag is a name for an actor's snapshot, and keeps it.
    c.layout in ('B0|B1', 'B4|B5') or exists (select * from searched where kind = 'tag') as tags_are_known,
    -- What the exports tell of its owner.
    case
        when c.key_tag_uid is not null or coalesce(c.is_golden, false) then 'not-an-actor'
        when p.there > 0 then 'present'
        when p.found > 0 then 'unstable'
        when c.actor_name is null and c.actor_uid is null then 'unknown'
        when s.kind is null or not (s.everywhere or list_contains(s.spaces, coalesce(c.actor_atespace, 'ax'))) then 'unknown'
        when p.namesakes > 0 then 'reused'
        else 'absent'
    end as owner_presence,
    s.exports as actor_exports
from completed c
left join currents r using (source, snapshot)
left join newest n on n.source = c.source and n.actor_name = c.actor_name
    and n.actor_atespace is not distinct from c.actor_atespace
left join owners h on h.source = c.source and h.actor_name = c.actor_name
    and h.actor_atespace is not distinct from c.actor_atespace
left join searched s on s.kind = 'actor'
left join (
    select o.source, o.snapshot,
        count(*) filter (fits and is_there) as there,
        count(*) filter (fits) as found,
        count(*) filter (not fits) as namesakes
    from (
        select l.source, l.snapshot, a.is_there,
            coalesce(a.uid = l.actor_uid, true) as fits
        from linked l
        join known_actors a on a.name = l.actor_name and a.space = coalesce(l.actor_atespace, a.space)
        union all
        select l.source, l.snapshot, a.is_there, true
        from linked l
        join known_actors a on a.uid = l.actor_uid and l.actor_name is distinct from a.name
    ) o
    group by all
) p on p.source = c.source and p.snapshot = c.snapshot;

-- How many conversations of a harness have an actor in the records, or a snapshot: a harness with none
-- may never have run on Substrate.
create or replace temp table harnesses_there as
select c.source, coalesce(c.harness_id, '') as harness_id, true as is_there
from conversations c
where c.conversation_id in (select conversation_id from mapped where conversation_id is not null)
    or c.conversation_id in (select name from known_actors)
group by all;
