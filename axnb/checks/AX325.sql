-- id: AX325
-- name: golden-not-full
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- A golden snapshot holds data alone. It must be a full one, since new actors start from its memory;
-- Substrate refuses another with FailedPrecondition. Make it anew.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    'it is golden and holds data alone.' as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
where m.is_golden and (m.content = 'data' or m.record_content = 'data' or exists (select * from snapshot_remarks r where r.source = m.source and r.snapshot = m.snapshot and r.kind = 'golden-is-data'))
