-- Every logged call and result, with its turn; and the conversations in which pairing them takes
-- more than equal ids: empty or repeated ids, results without or before their call, another tool's
-- name. Parameter: $source.
create or replace temp table marks as
select e.conversation_id, t.turn, e.step, e.position, e."row", e.part, e.kind, e.call_id, e.tool,
    e.signal
from (
    select conversation_id, step, position, "row", 1::bigint as part, part_kind as kind,
        part_call_id as call_id, part_tool as tool, part_signal as signal
    from events
    where source = $source and part_kind in ('tool_call', 'tool_result')
    union all
    select conversation_id, step, position, "row", part, p.kind, p.call_id, p.tool, p.signal
    from (
        select conversation_id, step, position, "row", unnest(more_parts) as p,
            generate_subscripts(more_parts, 1) + 1 as part
        from events
        where source = $source and more_parts is not null
    )
    where p.kind in ('tool_call', 'tool_result')
) e
join placed t on t."row" = e."row";

create or replace temp table tangled as
select conversation_id, row_number() over (order by conversation_id) as n
from (
    select
        conversation_id,
        count(*) filter (kind = 'tool_call') as calls,
        count(*) filter (kind = 'tool_result') as results,
        min(position) filter (kind = 'tool_call') as called,
        min(position) filter (kind = 'tool_result') as answered,
        count(distinct nullif(tool, '')) as tools,
        call_id
    from marks
    group by conversation_id, turn, call_id
)
where call_id = '' or calls <> 1 or results > 1 or answered <= called or tools > 1
group by conversation_id;

-- What pairing in Python finds, and what the settings say of the tools.
create or replace temp table paired (
    conversation_id varchar, turn bigint, call_step bigint, call_position bigint, "row" bigint,
    part bigint, call_id varchar, tool varchar, observations bigint, result_step bigint,
    result_position bigint, pairing varchar, signal varchar
);
create or replace temp table tool_rules (tool varchar, path varchar, consequential boolean);
