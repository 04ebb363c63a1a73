-- When servers were asked for each conversation, in UTC, in order. A request that failed ran no turn
-- to its end, and perhaps none at all: it is counted apart.
select
    conversation_id,
    list("at" order by "at") filter (event = 'request' and "at" is not null) as asked,
    count(*) filter (event = 'request' and "at" is null) as without_time
from server_events
where conversation_id is not null and event = 'request'
group by conversation_id
order by conversation_id;
