-- id: AX318
-- name: orphan-of-actor
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The snapshot's actor is in none of the exports, though they list its atespace, no tag holds the
-- snapshot and no clone borrows it. Until 2026-09-02 the deletion of an actor left all of its snapshots
-- behind. In August a tag was a name for an actor's snapshot: without a list of tags one may still hold
-- it, and the sentence says so. Before anybody removes it: exports are paged lists and may miss a record, so take them twice,
-- before and after the bucket is listed.
select
    m.source,
    null as conversation_id,
    null::bigint as step,
    format('its actor {} is not in {}.', short(coalesce(m.actor_atespace, 'ax') || '/' || coalesce(m.actor_name, m.actor_uid)),
        case m.actor_exports when 1 then 'the one export that was given' else 'either export' end
        || case when m.tags_are_known then '' else '; no list of tags was given, and one may hold it' end) as sentence,
    [] as witness,
    m.snapshot,
    null as object,
    coalesce(m.actor_atespace, 'ax') || '/' || coalesce(m.actor_name, m.actor_uid) as actor
from mapped m
where m.owner_presence = 'absent'
    and not list_has_any(coalesce(m.roles, []), ['tag:tagged', 'actor:source', 'actor:latest', 'actor:in-progress'])
    and m.source in (select source from stable_buckets)
