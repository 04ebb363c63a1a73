-- How many rows a log holds of each conversation, and where they end, in numbers and in the order in
-- which the store wrote them. Parameter: $source.
select n.conversation_id, count(*) as rows, max(l.step) as last_step, min(l."row") as first_row, max(l."row") as last_row
from log_rows l
join conversation_numbers n on n.source = l.source and n.conversation = l.conversation
where l.source = $source
group by n.conversation_id
order by n.conversation_id;
