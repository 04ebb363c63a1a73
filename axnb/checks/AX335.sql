-- id: AX335
-- name: suspicious-size
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- A file ends in a hole, which Substrate's builds write of no file but a guest's memory. So looks an
-- object whose declared size was raised: it decodes, and restores to a longer file. Whether it is so,
-- its bytes do not tell: the snapshot is `unknown` at best.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} ends in a hole.', short(o.file)) as sentence,
    [witness_row(null, unhex(o.sha256))] as witness,
    m.snapshot,
    o.key as object,
    null as actor
from mapped m join snapshot_objects o on o.source = m.source and o.snapshot = m.snapshot
where list_contains(o.remarks, 'ends-in-a-hole') and o.state = 'sound' and o.is_latest
