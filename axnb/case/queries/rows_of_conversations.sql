-- The conversations of a log with their numbers and how many rows they have; -1 are rows whose id could
-- not be read. Parameter: $source.
with counted as (
    select conversation, count(*) as rows from event_rows where source = $source group by conversation
    union all
    select coalesce(n.conversation, -1), count(*)
    from rejects r
    left join conversation_numbers n on n.source = r.source and n.conversation_id = r.conversation_id
    where r.source = $source
    group by all
)
select c.conversation, any_value(n.conversation_id) as conversation_id, sum(rows)::bigint as rows
from counted c
left join conversation_numbers n on n.source = $source and n.conversation = c.conversation
group by c.conversation
order by c.conversation;
