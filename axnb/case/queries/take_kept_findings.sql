-- Findings that the case keeps of the conversations that were asked about, beside those in `found`
-- (temp); `answers` (temp) holds the conversations.
insert into found
select f.*
from findings f
left join answers a on a.source = f.source and a.conversation_id = f.conversation_id
where f.conversation_id is null or a.source is not null;
