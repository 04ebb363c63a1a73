-- Ids that look most like one that no source has. Parameter: $id. Very long ids take too long to be
-- compared with.
select conversation_id
from conversation_numbers
where length(conversation_id) between length($id) // 2 and 2 * length($id) and length($id) <= 500
group by conversation_id
order by jaro_winkler_similarity(conversation_id, $id) desc, conversation_id
limit 50;
