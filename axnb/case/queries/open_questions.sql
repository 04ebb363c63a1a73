-- Questions that wait for a person, in order. Parameter: $ids of conversations, or NULL for all.
select source, conversation_id, step
from questions
where outcome = 'awaiting-decision'
    and ($ids::varchar[] is null or conversation_id in (select unnest($ids::varchar[])))
order by source, conversation_id, position;
