-- Rows of the careful path that decode. Parameter: $source.
insert into event_rows by name
select
    $source as source, * exclude (contents, conversation_id), false as fast,
    case
        when contents[1].kind in ('text', 'thought', 'tool_call', 'tool_result')
            then contents[1].kind
        when contents[1].kind is not null then 'other'
    end as part_kind,
    contents[1]."role" as part_role
from careful_events;

insert into careful_parts by name
select
    $source as source, * exclude (content),
    content.kind as kind, content."role" as "role", content.call_id as call_id,
    content.tool as tool, content.is_error as is_error,
    case when content.kind = 'tool_result'
        then result_signal(content.is_error, content."value") end as signal,
    content.decision as decision, content."value" as "value", content.size as size
from (
    select "row", conversation_id, step, position, unnest(contents) as content,
        generate_subscripts(contents, 1) as part
    from careful_events
);
