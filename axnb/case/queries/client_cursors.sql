-- The highest number that a client was sent of each conversation.
select conversation_id, max(number) as last
from client_outputs
where number > 0
group by conversation_id
order by conversation_id;
