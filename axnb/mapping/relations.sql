-- How a conversation's log and the snapshot that it would go on from stand to each other in time.
-- `log_times` is registered: source, conversation_id, first_seen, last_seen, last_written (as the log's
-- own records tell; NULL where the times are a server's log), heard_until (the last time of any server's
-- log), in UTC.
-- AX logs the end of a turn before it suspends the actor, and gives the suspension ten seconds; the
-- clocks of a log and of a node may differ by some more. A server's log tells when a turn was asked for,
-- not when it ended, and a turn may take hours; and it tells nothing of what came after its own end.
create or replace temp table relations as
select c.source, c.conversation_id,
    m.source as bucket_source, m.snapshot, g.snapshot as named_snapshot, m.moment, m.moment_how, t.last_seen,
    t.last_written is not null as is_written,
    case
        when g.snapshot is not null then 'gone'
        when m.snapshot is null then 'none'
        when m.moment is null or t.last_seen is null then 'unknown'
        -- What has happened since is in the actor's memory, or in a pause snapshot on its node.
        when a.name is not null and t.last_seen > m.moment then 'running'
        when t.last_seen > m.moment + interval 1 minute then 'log-ahead'
        when t.last_written is not null and m.moment > t.last_seen + interval 10 minute then 'snapshot-ahead'
        when m.moment > t.last_seen + interval 1 day and t.heard_until > m.moment then 'snapshot-ahead'
        else 'fits'
    end as relation
from conversations c
left join (
    select conversation_id, source, snapshot, moment, moment_how
    from mapped
    where conversation_id is not null and (is_own_current or is_newest or siblings = 1)
    qualify row_number() over (
        partition by conversation_id
        order by is_own_current desc, is_newest desc, moment desc nulls last, source, snapshot
    ) = 1
) m using (conversation_id)
left join (
    -- The record names one that the bucket does not hold, where it would be.
    select n.name, arg_min(n.snapshot, n.space <> 'ax') as snapshot
    from named n
    join looked_through b on b.bucket = n.bucket
        and (b.prefix = '' or starts_with(n.snapshot, b.prefix || '/'))
    where n.kind = 'actor' and n."role" = 'latest' and n.prefix is null
    group by n.name
) g on g.name = c.conversation_id
left join (
    select distinct name from known_actors
    where state in ('RUNNING', 'RESUMING', 'SUSPENDING', 'PAUSING', 'PAUSED')
) a on a.name = c.conversation_id
left join log_times t on t.source = c.source and t.conversation_id = c.conversation_id;
