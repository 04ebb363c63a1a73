-- Conversations that two logs hold, as seen from either side. `canonical_steps` (source, other,
-- conversation_id, step, is_same) is registered: the canonical content of rows whose texts differ.
create or replace temp table compared_copies as
select
    c.source,
    c.other,
    c.conversation_id,
    min(c.step) as first_common,
    min(c.step) filter (where coalesce(k.is_same, c.is_same)) as first_same,
    min(c.step) filter (where not k.is_same) as first_different,
    count(*) filter (where not c.is_same and k.is_same is null) as skipped
from common_steps c
left join canonical_steps k on k.source = c.source and k.other = c.other
    and k.conversation_id = c.conversation_id and k.step = c.step
group by c.source, c.other, c.conversation_id;

-- Logs that differ at their first common number share an id by chance.
create or replace temp table copies as
select source, other, conversation_id, coalesce(first_common = first_same, false) as is_related,
    first_different, skipped
from compared_copies
union all
select other, source, conversation_id, coalesce(first_common = first_same, false),
    first_different, skipped
from compared_copies;

-- Conversations that only the other one of two related logs holds.
create or replace temp table missing_copies as
select r.source, r.other, c.conversation_id, coalesce(c.last_step, 0) as last
from (select distinct source, other from copies where is_related) r
join sources s on s.source = r.source and s.scope is null
join conversations c on c.source = r.other
where c.conversation_id in (select conversation_id from asked_ids)
    and c.conversation_id not in (select conversation_id from conversations where source = r.source);
