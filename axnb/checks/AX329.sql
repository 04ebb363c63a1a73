-- id: AX329
-- name: log-ahead-of-snapshot
-- severity: warning
-- needs: snapshots
-- empty without: snapshots
--
-- The log goes on after the snapshot was taken: the last turn is not in it. AX suspends an actor after
-- each turn and gives up after ten seconds, with a warning alone. A resume from this snapshot has
-- forgotten what the log tells; tools that were called since are not called again by the log, and may
-- be by the agent.
select
    r.source,
    r.conversation_id,
    null::bigint as step,
    format('the log was last written at {}, its snapshot was taken at {}.',
        strftime(r.last_seen, '%Y-%m-%d %H:%M:%S'), strftime(r.moment, '%Y-%m-%d %H:%M:%S')) as sentence,
    [] as witness,
    r.snapshot,
    null as object,
    null as actor
from relations r
where r.relation = 'log-ahead'
