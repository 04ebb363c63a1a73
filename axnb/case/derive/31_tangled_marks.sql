-- Calls and results of some tangled conversations, for pairing in Python. The digest of a call's
-- arguments tells a call that was logged twice from two calls. Parameters: $source, $first, $last.
select
    m.conversation_id, m.turn, m.step, m.position, m."row", m.part, m.kind, m.call_id, m.tool,
    m.signal, case when m.kind = 'tool_call' then md5(coalesce(p.arguments, '')) end
from marks m
join tangled t on t.conversation_id = m.conversation_id and t.n between $first and $last
left join parts p on m.kind = 'tool_call' and p.source = $source
    and p.conversation_id = m.conversation_id and p."row" = m."row" and p.part = m.part
order by t.n, m.position, m."row", m.part;
