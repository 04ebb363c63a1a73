-- What the checks of snapshots read: `linked` with what was judged (`judged` is registered: source,
-- snapshot, restorable, rule, because, code, reason). Parameters:
-- $writer, the layout of the target; $has_target, whether one is described at all.

-- Actors by name, with whether the exports tell that one is not there.
create or replace temp table known_actors as
select source, atespace, name, uid, atespace || '/' || name as actor, state, source_tag, change,
    change in ('stable', 'changed', 'seen-once') as is_there
from actors;

-- Kinds of records that were exported, with where. One source holds all records of a case.
create or replace temp table searched as
select kind, max(exports) as exports, bool_or(everywhere) as everywhere, flatten(list(spaces)) as spaces
from record_coverage where exports > 0 group by kind;

create or replace temp table mapped as
with
base as (
    select l.*, $has_target as by_target, j.restorable, j.rule, j.because, j.code, j.reason,
        -- Of a snapshot without a manifest only the day tells whether it ought to have one.
        l.manifest = 'missing' and not (l.generation = 'B0' or (l.generation like 'B0|%' and coalesce($writer, '') = 'B0')) as is_torn,
        coalesce(f.present, []) as present,
        coalesce(f.broken, []) as broken
    from linked l
    join judged j using (source, snapshot)
    left join (
        select source, snapshot,
            list(file order by file) as present,
            list(file order by file) filter (state = 'damaged' or size = 0) as broken
        from snapshot_objects where "role" = 'file' and is_latest and not is_delete_marker
        group by all
    ) f using (source, snapshot)
),
completed as (
    select *,
        case
            when is_torn or manifest = 'unreadable' then false
            when not list_has_all(present, expected) or list_has_any(broken, expected) then false
            when expected_from = 'unknown' then null
            else true
        end as is_complete
    from base
),
currents as (
    select bucket_source as source, prefix as snapshot, max(space || '/' || name) as current_of
    from named where prefix is not null and kind = 'actor' and "role" = 'latest'
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
)
select c.*,
    r.current_of is not null as is_current,
    r.current_of,
    r.current_of is null and n.snapshot is not distinct from c.snapshot as is_newest,
    n.snapshots as siblings,
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
left join newest n on n.source = c.source and n.actor_name is not distinct from c.actor_name
    and n.actor_atespace is not distinct from c.actor_atespace
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
        join known_actors a on a.name = l.actor_name
            and a.atespace = coalesce(l.actor_atespace, a.atespace)
        union all
        select l.source, l.snapshot, a.is_there, true
        from linked l
        join known_actors a on a.uid = l.actor_uid and l.actor_name is distinct from a.name
    ) o
    group by all
) p on p.source = c.source and p.snapshot = c.snapshot;
