-- Snapshots of the buckets that were verified that no restore gives back whole, whose they are
-- where that is told, and why.
with
unsound as (
    select source, snapshot, 'its manifest is ' || manifest as why
    from snapshots
    where manifest <> 'read'
    union all
    select source, snapshot, coalesce(file, key) || ' is ' || state
    from snapshot_objects
    where "role" = 'file' and is_latest and state <> 'sound'
    union all
    select s.source, s.snapshot, e.file || ' is missing'
    from snapshots s, unnest(s.expected) as e(file)
    where not exists (
        select 1
        from snapshot_objects o
        where o.source = s.source and o.snapshot = s.snapshot and o.file = e.file and o.is_latest
            and not o.is_delete_marker
    )
)
select u.snapshot, coalesce(s.manifest_actor, s.key_actor) as actor, u.why
from unsound u
join snapshots s on s.source = u.source and s.snapshot = u.snapshot
order by all;
