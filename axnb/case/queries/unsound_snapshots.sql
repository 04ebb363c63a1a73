-- Snapshots of the buckets that were verified that no restore gives back whole, and why.
select snapshot, 'its manifest is ' || manifest as why
from snapshots
where manifest <> 'read'
union all
select snapshot, coalesce(file, key) || ' is ' || state
from snapshot_objects
where "role" = 'file' and is_latest and state <> 'sound'
union all
select s.snapshot, e.file || ' is missing'
from snapshots s, unnest(s.expected) as e(file)
where not exists (
    select 1
    from snapshot_objects o
    where o.source = s.source and o.snapshot = s.snapshot and o.file = e.file and o.is_latest
        and not o.is_delete_marker
)
order by all;
