-- id: AX325
-- name: golden-not-full
-- severity: error
-- needs: snapshots
-- empty without: snapshots
--
-- A golden snapshot holds data alone. It must be a full one, since new actors start from its memory;
-- Substrate refuses another with FailedPrecondition. Make it anew.
select
    m.source,
    case when m.conversation_id in (select conversation_id from conversations) then m.conversation_id end as conversation_id,
    null::bigint as step,
    'it is golden and holds data alone.' as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
where m.is_golden and (m.content = 'data' or exists (select * from snapshot_remarks r where r.source = m.source and r.snapshot = m.snapshot and r.kind = 'golden-is-data'))
