-- Every snapshot with its links and the names of its current files and of those that are damaged.
-- `linked` is a temp table of axnb/mapping/links.sql.
select
    l.*,
    coalesce(f.present, []) as present,
    coalesce(f.damaged, []) as damaged,
    coalesce(f.suspect, []) as suspect,
    coalesce(f.unread, 0) as unread,
    coalesce(a.assets, []) as assets
from linked l
left join (
    select source, snapshot,
        list(file order by file) as present,
        list(file order by file) filter (state = 'damaged' or size = 0) as damaged,
        list(file order by file) filter (list_has_any(remarks, ['ends-in-a-hole', 'odd-content'])) as suspect,
        count(*) filter (state not in ('sound', 'damaged')) as unread
    from snapshot_objects where "role" = 'file' and is_latest and not is_delete_marker
    group by all
) f using (source, snapshot)
left join (
    select source, snapshot,
        list(struct_pack(name := name, url := url, sha256 := sha256, arch := arch) order by name) as assets
    from snapshot_assets group by all
) a using (source, snapshot)
order by l.source, l.snapshot;
