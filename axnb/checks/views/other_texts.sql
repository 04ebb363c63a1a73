-- Texts that a client was sent under a number at which the log holds none like it. `text_digests`
-- (source, row, digest), those of the rows in `told_texts`, is registered.
create or replace temp table other_texts as
select distinct t.source, t.conversation_id, t.step, t.client
from told_texts t
left join text_digests d on d.source = t.source and d."row" = t."row" and d.digest = t.digest
group by t.source, t.conversation_id, t.step, t.client, t.digest
having count(d.digest) = 0;
