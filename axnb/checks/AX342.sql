-- id: AX342
-- name: lost-file-list
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- The manifest lists no files, and objects of the snapshot are there. Since 2026-06-25 builds fetch what
-- is listed and nothing else, without an error: the restore then fails for want of the files, or starts
-- with none of them. A manifest of 2026-06-17 to 24 is as it was written, and restores on builds of those
-- days alone; of any other day somebody changed it.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('its manifest lists no files, and {} there: builds of its time fetch none.',
        case len(m.present) when 1 then 'one is' else len(m.present) || ' are' end) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
where m.manifest = 'read' and m.files is null and len(m.present) > 0 and m.generation not in ('B1a', 'B0|B1a')
