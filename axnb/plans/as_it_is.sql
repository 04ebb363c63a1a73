-- Rows that a migration leaves in the words in which they are: AX of their own generation cannot
-- decode them, or they may be nested deeper than a store takes JSON apart. Parameter: $source.
select conversation_id, step, null as payload
from rejects
where source = $source
union all
select conversation_id, step, payload
from events
where source = $source
    and strlen(payload) - strlen(replace(replace(payload, '{', ''), '[', '')) > 900
order by conversation_id, step;
