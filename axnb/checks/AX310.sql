-- id: AX310
-- name: unsafe-file-name
-- severity: error
-- needs: snapshots
-- empty without: snapshots
--
-- The manifest lists a name that is none of a file in the snapshot's folder: it is absolute, goes up
-- by `..`, holds a NUL or a backslash, or is there twice. Builds of some months joined whatever was
-- listed to a folder of the node. Do not restore it; ask who wrote it.
select
    m.source,
    case when m.conversation_id in (select conversation_id from conversations) then m.conversation_id end as conversation_id,
    null::bigint as step,
    format('its manifest lists a name that is no file of it ({}).', split_part(r.detail, ':', 1)) as sentence,
    [] as witness,
    m.snapshot,
    r.object as object,
    null as actor
from mapped m join (select distinct on (source, snapshot, object, split_part(detail, ':', 1)) * from snapshot_remarks where kind = 'refused-name') r on r.source = m.source and r.snapshot = m.snapshot
where true
