-- A line a part of every row that fits, and one for a row without parts or one that cannot be read. No
-- payload is looked at. An argument that is NULL, or an empty text, chooses all; the kind `other` is
-- any that has no name of its own here.
create or replace temp macro chosen_rows(only_source, within_id, only_state, only_kind, only_tool, lowest, highest) as table
with
wanted as materialized (
    select source, conversation, conversation_id
    from conversation_numbers
    where contains(conversation_id, within_id) and source = only_source
),
decoded as (
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
),
lines as (
    select d.source, d."row", d.part, w.conversation_id, d.step, d.state, d.kind, d."role", d.tool, d.call_id,
        d.size, d.digest
    from decoded d
    join wanted w on w.source = d.source and w.conversation = d.conversation
    union all
    -- One whose key cannot be read is of no conversation.
    select source, "row", 0, conversation_id, step, state, 'unreadable', null, null, null, size, digest
    from rejects
    where source = only_source and (within_id = '' or contains(conversation_id, within_id))
)
select source, "row", part, conversation_id, step, state_name(state) as state, kind, "role", tool, call_id, size,
    lower(hex(digest)) as digest
from lines
where (only_state is null or state = only_state)
    and (
        only_kind = ''
        or kind = only_kind
        or (only_kind = 'no content' and kind is null)
        or (
            only_kind = 'other'
            and kind not in ('text', 'thought', 'tool_call', 'tool_result', 'confirmation', 'unreadable')
        )
    )
    and (only_tool = '' or contains(tool, only_tool))
    and (lowest is null or step >= lowest)
    and (highest is null or step <= highest);
