-- id: AX301
-- name: torn-upload
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- The snapshot has no manifest.json, which Substrate writes last: its upload did not end, and no
-- build since 2026-06-17 restores it. Until 2026-06-16 there were no manifests: what was named before
-- that day is not found here; where builds of before it ran for longer, `layout = "B0"` in [target]
-- says so. The last good snapshot of the same actor is the one to go back to.
-- An upload that a record still calls in progress is AX302.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('it has no manifest.json, which is written last: the upload did not end ({} {}).',
        len(m.present), case len(m.present) when 1 then 'object' else 'objects' end) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
where m.is_torn and not list_contains(coalesce(m.roles, []), 'actor:in-progress')
    and not exists (
        select * from snapshot_objects o
        where o.source = m.source and o.key = m.snapshot || '/manifest.json'
            and (o.is_delete_marker or not o.is_latest)
    )
