-- id: AX309
-- name: unreadable-manifest
-- severity: error
-- needs: snapshots
-- empty without: snapshots
--
-- manifest.json is there and cannot be read: it is cut, no JSON, or says two things at once. No build
-- restores the snapshot; the data may be whole, and what it needs can be told from a sibling.
select
    m.source,
    case when m.conversation_id in (select conversation_id from conversations) then m.conversation_id end as conversation_id,
    null::bigint as step,
    format('its manifest.json cannot be read: {}.', m.manifest_reason) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
where m.manifest = 'unreadable' and not exists (select * from snapshot_objects o where o.source = m.source and o.key = m.snapshot || '/manifest.json' and o.size = 0)
