-- Calls and results of some tangled conversations, for pairing in Python. Parameters: $first, $last.
select
    m.conversation, m.turn, m.step, m.position, m."row", m.part, m.kind, m.call_id, m.tool, m.signal,
    count(*) filter (m.kind = 'tool_call') over (partition by m.conversation, m.call_id) > 1
        and m.call_id <> '' as is_repeated
from marks m
join tangled t on t.conversation = m.conversation and t.n between $first and $last
order by t.n, m.position, m."row", m.part;
