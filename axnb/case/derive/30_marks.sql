-- Every logged call and result, with its turn; and the conversations in which pairing them takes
-- more than equal ids: empty or repeated ids, results without or before their call, another tool's
-- name. Parameter: $source.
create or replace temp table marks as
select
    e.conversation_id,
    t.turn,
    e.step,
    e.position,
    e."row",
    e.part,
    e.c.kind as kind,
    e.c.call_id as call_id,
    e.c.tool as tool,
    e.c.signal as signal
from (
    select conversation_id, step, position, "row", unnest(contents) as c,
        generate_subscripts(contents, 1) as part
    from events
    where source = $source
        and (contents[1].kind in ('tool_call', 'tool_result') or len(contents) > 1)
) e
join placed t on t."row" = e."row"
where e.c.kind in ('tool_call', 'tool_result');

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
