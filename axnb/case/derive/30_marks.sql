-- Every logged call and result, with its turn; and the conversations in which pairing them takes
-- more than equal ids: empty or repeated ids, results without or before their call, another tool's
-- name. Parameter: $source.
create or replace temp table marks as
select t.conversation, t.turn, e.step, e.position, e."row", e.part, e.kind, e.call_id, e.tool, e.signal
from (
    select step, position, "row", 1::integer as part, part_kind as kind, part_call_id as call_id,
        part_tool as tool, part_signal as signal
    from event_rows
    where source = $source and fast and part_kind in ('tool_call', 'tool_result')
    union all
    select step, position, "row", part, cast(kind as usual_kind), call_id, tool, signal
    from careful_parts
    where source = $source and kind in ('tool_call', 'tool_result')
) e
join placed t on t."row" = e."row";

create or replace temp table tangled as
select conversation, row_number() over (order by conversation) as n
from (
    select
        conversation,
        count(*) filter (kind = 'tool_call') as calls,
        count(*) filter (kind = 'tool_result') as results,
        min(position) filter (kind = 'tool_call') as called,
        min(position) filter (kind = 'tool_result') as answered,
        min(nullif(tool, '')) <> max(tool) as tools_differ,
        call_id
    from marks
    group by conversation, turn, call_id
)
where call_id = '' or calls <> 1 or results > 1 or answered <= called or tools_differ
group by conversation;

-- What pairing in Python finds, what the settings say of the tools, and what is found to be compared:
-- most logs have nothing of some of it.
create or replace temp table paired (
    conversation bigint, turn bigint, call_step bigint, call_position bigint, "row" bigint,
    part bigint, call_id varchar, tool varchar, observations bigint, result_step bigint,
    result_position bigint, result_row bigint, pairing varchar, signal varchar
);
create or replace temp table unclaimed (
    conversation bigint, turn bigint, step bigint, position bigint, "row" bigint, part bigint,
    call_id varchar, tool varchar
);
create or replace temp table operation_ids (
    "row" bigint, part bigint, path varchar, operation_id varchar, arguments varchar
);
create or replace temp table wanted (
    why varchar, part bigint, "row" bigint, conversation integer, step bigint, position bigint,
    turn bigint, kind varchar, call_id varchar, tool varchar
);
create or replace temp table to_compare (
    source varchar, why varchar, "row" bigint, part bigint, conversation_id varchar, step bigint,
    position bigint, turn bigint, kind varchar, call_id varchar, tool varchar, row_digest blob
);