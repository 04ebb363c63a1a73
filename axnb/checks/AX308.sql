-- id: AX308
-- name: unsupported-version
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- An object is in a version of the sparse format that no build reads. All of them support version 2
-- alone, and say so when they refuse it. Whoever wrote it was no release of Substrate.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} is in a version of the sparse format that no build reads.', short(o.file)) as sentence,
    [witness_row(null, unhex(o.sha256))] as witness,
    m.snapshot,
    o.key as object,
    null as actor
from mapped m join snapshot_objects o on o.source = m.source and o.snapshot = m.snapshot
where o.state = 'damaged' and o.reason = 'version' and o.is_latest
