-- What the checks found about the conversations that were asked about, in a stable order.
select f.*
from found f
left join answers a on a.source = f.source and a.conversation_id = f.conversation_id
where f.conversation_id is null or a.source is not null
order by f.id, f.source, f.conversation_id nulls first, f.step nulls first, f.sentence;
