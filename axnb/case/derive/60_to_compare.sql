-- What has to be compared by what it says, and not by how it is spelled: rows that share a number,
-- rows of a turn that share a call id, with the arguments of the calls among them, and the arguments
-- of calls of a tool of which one call's outcome is unknown. Most logs have few of these.
-- Parameter: $source.
create or replace temp table shared_numbers as
select conversation, step
from placed
where step is not null
group by conversation, step
having count(*) > 1;

-- Ids stand several times in a turn of tangled conversations only.
create or replace temp table same_id as
with tangled_marks as (
    select * from marks where conversation in (select conversation from tangled)
)
select m.*
from tangled_marks m
join (
    select conversation, turn, kind, call_id
    from tangled_marks
    where call_id <> ''
    group by conversation, turn, kind, call_id
    having count(*) > 1
) g using (conversation, turn, kind, call_id);

create or replace temp table wanted as
select 'number' as why, 0::bigint as part, p."row", p.conversation, p.step, p.position, p.turn,
    null::varchar as kind, null::varchar as call_id, null::varchar as tool
from placed p
join shared_numbers s on s.conversation = p.conversation and s.step = p.step
union all
select 'call', 0, "row", conversation, step, position, turn, cast(kind as varchar), call_id, tool
from same_id
union all
select 'id', part, "row", conversation, step, position, turn, cast(kind as varchar), call_id, tool
from same_id
where kind = 'tool_call'
union all
select 'arguments', m.part, m."row", m.conversation, m.step, m.position, m.turn,
    cast(m.kind as varchar), m.call_id, m.tool
from marks m
join (
    -- A harness that never logs a result leaves every call open: that says nothing of any of them.
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

create or replace temp table to_compare as
with digests as (
    select "row", digest from log_rows
    where source = $source and "row" in (select "row" from wanted)
)
select
    $source as source, w.why, w."row", w.part, n.conversation_id, w.step, w.position, w.turn, w.kind,
    w.call_id, w.tool, d.digest as row_digest
from wanted w
join conversation_numbers n on n.source = $source and n.conversation = w.conversation
left join digests d on d."row" = w."row";
