-- How a conversation's log and the snapshot that it would go on from stand to each other in time.
-- `log_times` is registered: source, conversation_id, first_seen, last_seen (UTC).
-- AX logs the end of a turn before it suspends the actor, and gives the suspension ten seconds; the
-- clocks of a log and of a node may differ by some more.
create or replace temp table relations as
select c.source, c.conversation_id,
    m.source as bucket_source, m.snapshot, g.snapshot as named_snapshot, m.moment, t.last_seen,
    case
        when g.snapshot is not null then 'gone'
        when m.snapshot is null then 'none'
        when m.moment is null or t.last_seen is null then 'unknown'
        when t.last_seen > m.moment + interval 1 minute then 'log-ahead'
        when m.moment > t.last_seen + interval 10 minute then 'snapshot-ahead'
        else 'fits'
    end as relation
from conversations c
left join (
    select distinct on (conversation_id) conversation_id, source, snapshot, moment
    from mapped
    where conversation_id is not null and (is_current or is_newest or siblings = 1)
    order by conversation_id, is_current desc, is_newest desc, moment desc nulls last
) m using (conversation_id)
left join (
    -- The record names one that the bucket does not hold.
    select name, arg_min(snapshot, space <> 'ax') as snapshot
    from named
    where kind = 'actor' and "role" = 'latest' and prefix is null and snapshot is not null
    group by name
) g on g.name = c.conversation_id
left join log_times t on t.source = c.source and t.conversation_id = c.conversation_id;
