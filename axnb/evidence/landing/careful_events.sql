-- Rows of the careful path that decode. Parameter: $source.
insert into events by name
select
    source, "row", conversation_id, step, position, visible, state, harness_id, config, exec_id,
    shape, 'careful' as route, content_count,
    parts[1].kind as part_kind, parts[1]."role" as part_role, parts[1].call_id as part_call_id,
    parts[1].tool as part_tool, parts[1].is_error as part_is_error,
    parts[1].signal as part_signal, parts[1].decision as part_decision,
    parts[1]."value" as part_value, parts[1].size as part_size,
    case when len(parts) > 1 then parts[2:] end as more_parts,
    payload, digest
from (
    select
        $source as source,
        * exclude (contents),
        list_transform(contents, lambda c: struct_pack(
            kind := c.kind, "role" := c."role", call_id := c.call_id, tool := c.tool,
            is_error := c.is_error,
            signal := case when c.kind = 'tool_result' then result_signal(c.is_error, c."value") end,
            decision := c.decision, "value" := c."value", size := c.size)) as parts
    from careful_events
);
