-- Every snapshot with its links and the names of its current files and of those that are damaged.
-- `linked` is a temp table of axnb/mapping/links.sql.
select
    l.*,
    coalesce(f.present, []) as present,
    coalesce(f.damaged, []) as damaged,
    coalesce(f.suspect, []) as suspect,
    coalesce(a.assets, []) as assets
from linked l
left join snapshot_files f using (source, snapshot)
left join snapshot_runtimes a using (source, snapshot)
order by l.source, l.snapshot;
