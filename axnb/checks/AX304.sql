-- id: AX304
-- name: deleted-object
-- severity: error
-- needs: snapshots
-- empty without: snapshot_objects
--
-- An object that the snapshot needs was deleted, and an earlier version of it is still in the store.
-- It is neither there nor lost: whoever owns the bucket can bring that version back. Whether somebody
-- meant to delete it, the bucket does not tell.
select
    o.source,
    null as conversation_id,
    null::bigint as step,
    format('{} was deleted; version {} of it can be brought back.', short(o.file_name), short(o.version_id)) as sentence,
    [] as witness,
    o.snapshot,
    o.key as object,
    null as actor
from (
    select source, key, max(snapshot) as snapshot, max(coalesce(file, 'manifest.json')) as file_name,
        arg_max(coalesce(version_id, ''), modified) filter (not is_delete_marker) as version_id,
        bool_or(is_latest and not is_delete_marker) as is_there
    from snapshot_objects
    where "role" in ('file', 'manifest') and snapshot is not null
    group by source, key
) o
where not o.is_there and o.version_id is not null
