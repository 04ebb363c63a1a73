-- id: AX344
-- name: unusual-content
-- severity: info
-- needs: snapshots
-- empty without: mapped
--
-- An object is not as Substrate's builds write it, and restores all the same: its file ends in a hole,
-- has members where builds put none, or no whole number of pages. It may be a newer build, a file system
-- that stores no zeros, or not what was written; which, its bytes do not tell. The snapshot is
-- `unknown` at best.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} is not as builds of Substrate write it.', short(o.file)) as sentence,
    [witness_row(null, unhex(o.sha256))] as witness,
    m.snapshot,
    o.key as object,
    null as actor
from mapped m join snapshot_objects o on o.source = m.source and o.snapshot = m.snapshot
where list_has_any(o.remarks, ['ends-in-a-hole', 'odd-content']) and not list_contains(o.remarks, 'raised-size') and o.state = 'sound' and o.is_latest
