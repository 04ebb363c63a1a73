-- id: AX303
-- name: missing-file
-- severity: error
-- needs: snapshots
--
-- A file that the snapshot must have has no object: the manifest lists it, or builds of its time ask
-- for it. A restore ends with DataLoss and, since July, leaves the actor CRASHED.
-- Without versions the file is lost; the newest complete snapshot of the actor is the one to use.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} is missing: {}.', short(f.file),
        case when m.expected_from = 'listed' then 'the manifest lists it' else 'builds of its time ask for it' end) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/' || f.file || '.zstd' as object,
    null as actor
from mapped m, unnest(m.expected) as f(file)
where not list_contains(m.present, f.file) and not m.is_torn and not m.is_being_written
    and not exists (
        select * from snapshot_objects o
        where o.source = m.source and o.key = m.snapshot || '/' || f.file || '.zstd'
            and (o.is_delete_marker or not o.is_latest) and o."role" <> 'upload'
    )
