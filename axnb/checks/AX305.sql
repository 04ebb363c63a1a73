-- id: AX305
-- name: empty-object
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- An object of the snapshot has no byte. Whatever Substrate writes has some, also of an empty file:
-- the write was refused or cut. Since 2026-06-25 its own reader takes such an object for an empty file
-- and restores the snapshot with wrong content.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} is present but empty.', short(coalesce(o.file, 'manifest.json'))) as sentence,
    [] as witness,
    m.snapshot,
    o.key as object,
    null as actor
from mapped m join snapshot_objects o on o.source = m.source and o.snapshot = m.snapshot
where o.size = 0 and o.is_latest and not o.is_delete_marker and o."role" in ('file', 'manifest')
