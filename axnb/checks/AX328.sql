-- id: AX328
-- name: odd-actor-state
-- severity: warning
-- needs: snapshots
-- empty without: record_remarks
--
-- The record of an actor is not as records of its state are. It runs on no worker, is at rest and
-- holds one, is paused on no node, crashed though a good snapshot is recorded, or is in a state that its
-- generation does not have.
select
    r.source,
    case when substr(r.actor, strpos(r.actor, '/') + 1) in (select conversation_id from conversations)
        then substr(r.actor, strpos(r.actor, '/') + 1) end as conversation_id,
    null::bigint as step,
    r.sentence,
    [] as witness,
    null as snapshot,
    null as object,
    r.actor
from record_remarks r
where r.kind <> 'stuck-transition'
