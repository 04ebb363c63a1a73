-- A line a part of every row that fits, and one for a row without parts or one that cannot be read. No
-- payload is looked at. An argument that is NULL, or an empty text, chooses all.
create or replace temp macro chosen_rows(only_source, within_id, only_state, only_kind, only_tool, lowest, highest) as table
with
wanted as materialized (
    select source, conversation, conversation_id
    from conversation_numbers
    where contains(conversation_id, within_id) and source = only_source
),
logged as (
    select source, "row", conversation, step, state, cast(part_kind as varchar) as kind, part_role as "role",
        part_tool as tool, part_call_id as call_id, part_size::bigint as size, 1::bigint as part, digest
    from event_rows
    where fast
    union all
    select e.source, e."row", e.conversation, e.step, e.state, p.kind, p."role", p.tool, p.call_id, p.size,
        coalesce(p.part, 1), e.digest
    from event_rows e
    left join careful_parts p on p.source = e.source and p."row" = e."row"
    where not e.fast
    union all
    select j.source, j."row", n.conversation, j.step, j.state, 'unreadable', null, null, null, j.size, 0, j.digest
    from rejects j
    join conversation_numbers n on n.source = j.source and n.conversation_id = j.conversation_id
)
select l.source, l."row", l.part, w.conversation_id, l.step, state_name(l.state) as state, l.kind, l."role", l.tool,
    l.call_id, l.size, lower(hex(l.digest)) as digest
from logged l
join wanted w on w.source = l.source and w.conversation = l.conversation
where (only_state is null or l.state = only_state)
    and (only_kind = '' or l.kind = only_kind or (only_kind = 'no content' and l.kind is null))
    and (only_tool = '' or contains(l.tool, only_tool))
    and (lowest is null or l.step >= lowest)
    and (highest is null or l.step <= highest);
