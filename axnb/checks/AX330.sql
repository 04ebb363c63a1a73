-- id: AX330
-- name: snapshot-ahead-of-log
-- severity: error
-- needs: snapshots
-- empty without: snapshots
--
-- The snapshot was taken long after the log was last written: the actor went on, and the log knows
-- nothing of it. The log was restored from an older copy, or outputs could not be logged. Steps that
-- the snapshot remembers are missing, and their effects may have happened: read the tools back before
-- anything runs again.
select
    r.source,
    r.conversation_id,
    null::bigint as step,
    format('its snapshot was taken at {}, the log was last written at {}.',
        strftime(r.moment, '%Y-%m-%d %H:%M:%S'), strftime(r.last_seen, '%Y-%m-%d %H:%M:%S')) as sentence,
    [] as witness,
    r.snapshot,
    null as object,
    null as actor
from relations r
where r.relation = 'snapshot-ahead'
