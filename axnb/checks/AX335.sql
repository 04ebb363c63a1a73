-- id: AX335
-- name: raised-size
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- A file ends in a hole that begins within a block, where no file system has one begin: the size that
-- the object declares was raised, or somebody else wrote it. It decodes, and restores to a longer file
-- than was written. The snapshot is `unknown` at best.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} declares more bytes than it has.', short(o.file)) as sentence,
    [witness_row(null, unhex(o.sha256))] as witness,
    m.snapshot,
    o.key as object,
    null as actor
from mapped m join snapshot_objects o on o.source = m.source and o.snapshot = m.snapshot
where list_contains(o.remarks, 'raised-size') and o.state = 'sound' and o.is_latest
