-- What the checks found about the conversations that were asked about, in a stable order.
select f.*
from found f
where f.conversation_id is null or f.conversation_id in (select conversation_id from asked_ids)
order by f.id, f.source, f.conversation_id nulls first, f.step nulls first, f.snapshot nulls first,
    f.object nulls first, f.actor nulls first, f.sentence;
