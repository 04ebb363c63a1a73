-- id: AX306
-- name: extra-object
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The snapshot's folder holds an object that its manifest does not list. A restore does not fetch it.
-- It may be left of an earlier try under the same name, or be put there by somebody else.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} is not one of its files.', short(o.name)) as sentence,
    [] as witness,
    m.snapshot,
    o.object as object,
    null as actor
from mapped m join (
    select r.source, r.snapshot, r.object, r.detail as name from snapshot_remarks r where r.kind = 'unlisted'
    union all
    select source, snapshot, key, substr(key, length(snapshot) + 2) from snapshot_objects
    where "role" = 'odd' and is_latest and not is_delete_marker and size > 0
) o on o.source = m.source and o.snapshot = m.snapshot
where not m.is_torn and not m.is_being_written and (m.files is not null or m.generation in ('B0', 'B1a', 'B0|B1a'))
