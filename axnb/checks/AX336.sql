-- id: AX336
-- name: unsafe-member
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- A file of the snapshot has members that should not be restored blindly: with setuid or setgid, a
-- device, a link or a name that leads out of the tree. An agent wrote them, and a restore runs as root
-- on a node.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} of {}: {}, such as {}.', case r.members when 1 then 'an unsafe member' else r.members || ' unsafe members' end,
        short(r.file), case r.kind
            when 'absolute' then 'an absolute name' when 'leaves-tree' then 'a name that leads out of the tree'
            when 'link-leaves-tree' then 'a link that leads out of the tree' when 'device' then 'a device' when 'fifo' then 'a pipe'
            when 'control-character' then 'a name with control characters' when 'unknown-type' then 'of an unknown type'
            else r.kind end, r.first) as sentence,
    [] as witness,
    m.snapshot,
    r.object as object,
    null as actor
from mapped m join (
    select source, snapshot, object, kind, count(*) as members, regexp_extract(object, '([^/]+)\.zstd$', 1) as file,
        short(min(detail)) as first
    from snapshot_remarks
    where kind in ('absolute', 'leaves-tree', 'link-leaves-tree', 'setuid', 'setgid', 'device', 'fifo', 'control-character', 'unknown-type')
    group by all
) r on r.source = m.source and r.snapshot = m.snapshot
