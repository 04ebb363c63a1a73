-- Rows of the careful path that decode. Parameter: $source.
insert into events
select
    $source, "row", conversation_id, step, position, visible, state, harness_id, config, exec_id,
    shape, 'careful', content_count,
    list_transform(contents, lambda c: struct_pack(
        kind := c.kind, "role" := c."role", call_id := c.call_id, tool := c.tool,
        is_error := c.is_error,
        signal := case when c.kind = 'tool_result' then result_signal(c.is_error, c."value") end,
        decision := c.decision, "value" := c."value", size := c.size)),
    payload, digest
from careful_events;
