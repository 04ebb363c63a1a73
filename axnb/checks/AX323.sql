-- id: AX323
-- name: runtime-mismatch
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- The memory image says that another version of gVisor wrote it than the one whose release the manifest
-- pins. gVisor refuses a memory image of any version but its own.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('its image was written by {}, and its manifest pins release {}.', short(m.runsc_version), p.pinned) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
join (
    select source, snapshot, max(regexp_extract(url, '/release/([0-9]{8})(?:[./]|$)', 1)) as pinned
    from snapshot_assets where name in ('runsc', 'gvisor') group by all
) p using (source, snapshot)
where p.pinned <> '' and regexp_extract(m.runsc_version, '^release-([0-9]{8})', 1) not in ('', p.pinned)
