-- The arguments of calls of a tool have to be compared where one call's outcome is unknown. A harness
-- that never logs a result leaves every call open: that says nothing of any of them.
-- Parameter: $source.
insert into wanted
select 'arguments', m.part, m."row", m.conversation, m.step, m.position, m.turn,
    cast(m.kind as varchar), m.call_id, m.tool
from marks m
join (
    select n.conversation, k.tool,
        min(k.call_position) filter (k.outcome in ('unknown', 'placeholder')) as first_open
    from tool_calls k
    join conversations c on c.source = k.source and c.conversation_id = k.conversation_id
    join conversation_numbers n on n.source = k.source and n.conversation_id = k.conversation_id
    left join silent_harnesses h on h.source = k.source and h.harness_id = coalesce(c.harness_id, '')
    where k.source = $source and h.source is null
    group by n.conversation, k.tool
    -- Only what follows a call may repeat it.
    having max(k.call_position) > first_open
) k on k.conversation = m.conversation and k.tool = m.tool and m.position >= k.first_open
where m.kind = 'tool_call';
