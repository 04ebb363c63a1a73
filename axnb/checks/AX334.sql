-- id: AX334
-- name: other-content
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- An object decodes, and is not what its name says: its file is the same as another file of the
-- snapshot, its first bytes are those of another kind, or its size is not the one that another file of
-- the snapshot gives it. Somebody put another object in its place, or an upload mixed two. Substrate's
-- reader does not notice.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} is not what its name says: {}.', short(o.file), case o.reason
        when 'duplicate' then 'it is the same as another file of the snapshot'
        when 'size-differs' then 'another file of the snapshot tells another size'
        else 'its content is of another kind' end) as sentence,
    [witness_row(null, unhex(o.sha256))] as witness,
    m.snapshot,
    o.key as object,
    null as actor
from mapped m join snapshot_objects o on o.source = m.source and o.snapshot = m.snapshot
where o.state = 'damaged' and o.reason in ('other-content', 'duplicate', 'size-differs') and o.is_latest
