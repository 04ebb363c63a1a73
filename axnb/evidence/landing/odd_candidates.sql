-- Rows of the fast path that may have something odd in them: a NUL, a number beyond 2^53, or another
-- id or number than their key. Most rows that AX wrote begin with their key, and none of them is
-- looked at again. Parameter: $source.
create or replace temp table odd_candidates as
select e."row", row_number() over (order by e."row") as n
from event_rows e
join conversation_numbers c on c.source = e.source and c.conversation = e.conversation
where e.source = $source and e.fast
    and (
        contains(e.payload, '\u0000')
        or e.state = 0
        or (
            e.part_kind in ('tool_call', 'tool_result') or e.config is not null
        ) and regexp_matches(e.payload, '[:,\[\s]-?[0-9.]+([eE]|[0-9]{12})')
        or not starts_with(e.payload, '{"conversation_id":"' || c.conversation_id || '"')
        or e.shape in ('exec', 'G5', 'G6') and not (
            starts_with(
                e.payload,
                '{"conversation_id":"' || c.conversation_id || '","'
                    || case e.shape when 'G6' then 'step' else 'seq' end || '":' || e.step || ','
            )
            or starts_with(
                e.payload,
                '{"conversation_id":"' || c.conversation_id || '", "'
                    || case e.shape when 'G6' then 'step' else 'seq' end || '":' || e.step || ','
            )
        )
    );
