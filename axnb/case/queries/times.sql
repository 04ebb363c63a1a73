-- When each conversation of a log was seen first and last, in UTC: by the records of server logs
-- that name it, and by the executions that G3 logged. AX's own parser takes a time without a zone
-- for UTC; Go's zero time says that none was set.
with
told as (
    select
        source,
        exec_id,
        regexp_extract(
            recorded_at,
            '^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]+)?) ?(?:Z|([+-])([0-9]{2}):?([0-9]{2})?(?::[0-9]{2})?)?(?: [A-Za-z0-9+-]+)?(?: m=.*)?$',
            ['day', 'clock', 'sign', 'hours', 'minutes']
        ) as t
    from executions
),
executed as (
    select
        source,
        exec_id,
        -- Casting would drop the zone.
        try_cast(t.day || ' ' || t.clock as timestamp)
            - case when t.sign = '-' then -1 else 1 end * (
                coalesce(try_cast(t.hours as integer), 0) * interval 1 hour
                + coalesce(try_cast(t.minutes as integer), 0) * interval 1 minute
            ) as "at"
    from told
),
seen as (
    select c.source, c.conversation_id, e."at", false as is_written
    from conversations c
    join server_events e on e.conversation_id = c.conversation_id
    union all
    select n.source, n.conversation_id, x."at", true
    from (select distinct source, conversation, exec_id from event_rows where exec_id <> '') r
    join executed x on x.source = r.source and x.exec_id = r.exec_id
    join conversation_numbers n on n.source = r.source and n.conversation = r.conversation
)
select source, conversation_id, min("at") as first_seen, max("at") as last_seen,
    -- The log's own word, and how far the word of servers goes.
    max("at") filter (is_written) as last_written,
    (select max("at") from server_events) as heard_until
from seen
where year("at") > 1
group by source, conversation_id
order by source, conversation_id;
