-- id: AX304
-- name: deleted-object
-- severity: error
-- needs: snapshots
-- empty without: snapshot_objects
--
-- An object that the snapshot needs was deleted, and an earlier version of it is still in the store.
-- It is neither there nor lost: whoever owns the bucket can bring that version back. Whether somebody
-- meant to delete it, the bucket does not tell. A snapshot of which every object was deleted is told
-- only if a record starts from it: since 2026-09-02 Substrate removes superseded ones.
select
    o.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} was deleted; version {} of it can be brought back.', short(o.file_name), short(o.version_id)) as sentence,
    [] as witness,
    o.snapshot,
    o.key as object,
    null as actor
from (
    select source, key, max(snapshot) as snapshot, max(file) as file, max(coalesce(file, 'manifest.json')) as file_name,
        arg_max(coalesce(version_id, ''), coalesce(modified, timestamp '1970-01-01')) filter (not is_delete_marker) as version_id,
        bool_or(is_latest and not is_delete_marker) as is_there
    from snapshot_objects
    where "role" in ('file', 'manifest') and snapshot is not null
    group by source, key
) o
left join mapped m on m.source = o.source and m.snapshot = o.snapshot
left join (
    select distinct b.source, n.snapshot
    from named n
    join looked_through b on b.bucket = n.bucket
    where n.prefix is null and n."role" in ('latest', 'tagged', 'golden')
) n on n.source = o.source and n.snapshot = o.snapshot
where not o.is_there and o.version_id is not null
    and case
        when m.snapshot is null then n.snapshot is not null
        else o.file is null or m.manifest <> 'read' or list_contains(m.expected, o.file)
    end
