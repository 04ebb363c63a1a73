-- id: AX329
-- name: log-ahead-of-snapshot
-- severity: warning
-- needs: snapshots
-- empty without: relations
--
-- The log goes on after the snapshot was taken, and the actor does not run: the last turn is not in
-- it. The log's times are those of G3's executions, or of requests in a server's log. AX suspends an actor after
-- each turn and gives up after ten seconds, with a warning alone. A resume from this snapshot has
-- forgotten what the log tells; tools that were called since are not called again by the log, and may
-- be by the agent.
select
    r.source,
    r.conversation_id,
    null::bigint as step,
    format('{} at {}, its snapshot was taken at {}{}.',
        case when r.is_written then 'the log was last written' else 'a turn was asked for' end,
        strftime(r.last_seen, '%Y-%m-%d %H:%M:%S'), strftime(r.moment, '%Y-%m-%d %H:%M:%S'),
        case r.moment_how when 'store' then ' by the store''s clock' else '' end) as sentence,
    [] as witness,
    r.snapshot,
    null as object,
    null as actor
from relations r
where r.relation = 'log-ahead'
