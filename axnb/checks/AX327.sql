-- id: AX327
-- name: stuck-actor
-- severity: warning
-- needs: snapshots
-- empty without: record_remarks
--
-- An actor is between two states for longer than any step of Substrate takes: it is RESUMING,
-- SUSPENDING, PAUSING, DELETING or REVERTING since the time that its record was last written, and the
-- file of the export was written more than ten minutes after that (a copied file, when it was copied). A request to it waits or fails. What it left in
-- the bucket may be torn.
select
    r.source,
    case when a.name in (select conversation_id from conversations) then a.name end as conversation_id,
    null::bigint as step,
    format('{} is {} since {}.', short(r.actor), short(a.state), strftime(a.updated, '%Y-%m-%d %H:%M UTC')) as sentence,
    [] as witness,
    null as snapshot,
    null as object,
    r.actor
from record_remarks r
join actors a on a.source = r.source and a.atespace || '/' || a.name = r.actor and a.uid is not distinct from r.uid
where r.kind = 'stuck-transition'
