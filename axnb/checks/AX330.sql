-- id: AX330
-- name: snapshot-ahead-of-log
-- severity: error
-- needs: snapshots
-- empty without: relations
--
-- The snapshot was taken long after the log was last written: ten minutes by the times of G3's
-- executions; by a server's log, which tells when a turn began, a day, and only if that log goes on
-- until then. The actor went on, and the log knows
-- nothing of it. The log was restored from an older copy, or outputs could not be logged. Steps that
-- the snapshot remembers are missing, and their effects may have happened: read the tools back before
-- anything runs again.
select
    r.source,
    r.conversation_id,
    null::bigint as step,
    format('its snapshot was taken at {}{}, {} at {}.',
        strftime(r.moment, '%Y-%m-%d %H:%M:%S'),
        case r.moment_how when 'store' then ' by the store''s clock' else '' end,
        case when r.is_written then 'the log was last written' else 'the last turn was asked for' end,
        strftime(r.last_seen, '%Y-%m-%d %H:%M:%S')) as sentence,
    [] as witness,
    r.snapshot,
    null as object,
    null as actor
from relations r
where r.relation = 'snapshot-ahead'
