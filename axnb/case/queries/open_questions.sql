-- Questions that wait for a person, in order.
select source, conversation_id, step
from questions
where outcome = 'awaiting-decision'
order by source, conversation_id, position;
