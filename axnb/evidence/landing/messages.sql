-- The fast path for rows that hold messages: G3 to G6. It accepts a row only if it can write the
-- row again from what it took out of it: the same text, or the same length once both are minified.
-- So nothing in an accepted row went unseen: no unknown key, no duplicate, no other spelling, no
-- second member of a oneof. What is not accepted lands with route `careful`.
--
-- `incoming` (row, conversation_id, step, payload, digest, screened) comes from the screen, which has
-- looked into the free-form objects. Parameter: $source.
insert into events
with
parsed as (
    select *, case when screened >= 0 and json_valid(payload) then json_transform(payload, '{"conversation_id":"JSON","seq":"JSON","step":"JSON","exec_id":"JSON","harness_id":"JSON","harness_config":"JSON","messages":[{"role":"JSON","content":{"text":{"text":"JSON"},"thought":{"signature":"JSON","summary":[{"text":{"text":"JSON"}}]},"tool_call":{"id":"JSON","signature":"JSON","function_call":{"name":"JSON","arguments":"JSON"}},"tool_result":{"call_id":"JSON","signature":"JSON","function_result":{"name":"JSON","response":"JSON"}}}}],"state":"JSON"}') end as m
    from incoming
),
-- One part a row at most: rows of several messages are rare and take the careful path.
first_item as (
    select * exclude (m), m, m.messages[1] as item, coalesce(len(m.messages), 0) as content_count
    from parsed
),
parted as (
    select
        * exclude (item),
        item.role as role_leaf,
        item.content is not null as has_content,
        item.content.text.text as text_leaf,
        item.content.text is not null as is_text_part,
        item.content.thought as thought,
        item.content.thought.summary[1].text.text as summary_leaf,
        item.content.tool_call as call,
        item.content.tool_result as result
    from first_item
),
written as (
    select
        *,
        case
            when is_text_part then concat('"text":{', '"text":' || text_leaf, '}')
            when thought is not null then concat(
                '"thought":{',
                concat_ws(',', '"signature":' || thought.signature,
                    case when len(thought.summary) = 1
                        then concat('"summary":[{"text":{', '"text":' || summary_leaf, '}}]') end),
                '}')
            when call is not null then concat(
                '"tool_call":{',
                concat_ws(',', '"id":' || call.id, '"signature":' || call.signature,
                    case when call.function_call is not null
                        then concat('"function_call":{',
                            concat_ws(',', '"name":' || call.function_call.name,
                                '"arguments":' || call.function_call.arguments), '}') end),
                '}')
            when result is not null then concat(
                '"tool_result":{',
                concat_ws(',', '"call_id":' || result.call_id, '"signature":' || result.signature,
                    case when result.function_result is not null
                        then concat('"function_result":{',
                            concat_ws(',', '"name":' || result.function_result.name,
                                '"response":' || result.function_result.response), '}') end),
                '}')
        end as part_text
    from parted
),
again as (
    select
        *,
        concat('{', concat_ws(',',
            '"conversation_id":' || m.conversation_id, '"seq":' || m.seq, '"step":' || m.step,
            '"exec_id":' || m.exec_id, '"harness_id":' || m.harness_id,
            '"harness_config":' || m.harness_config,
            case when content_count = 1 then concat('"messages":[{', concat_ws(',',
                '"role":' || role_leaf,
                case when has_content then concat('"content":{', part_text, '}') end), '}]') end,
            '"state":' || m.state), '}') as again
    from written
),
judged as (
    select
        *,
        coalesce(
            is_same_row(again, payload, screened % 2 = 1)
            and content_count <= 1
            and content_count = is_text_part::int + (thought is not null)::int
                + (call is not null)::int + (result is not null)::int
            and is_text(m.conversation_id) and is_text(m.exec_id) and is_text(m.harness_id)
            and is_state(m.state) and is_text(role_leaf) and is_text(text_leaf)
            and is_text(summary_leaf) and is_base64(thought.signature)
            and is_text(call.id) and is_text(call.function_call.name) and is_base64(call.signature)
            and is_text(result.call_id) and is_text(result.function_result.name)
            and is_base64(result.signature)
            and (m.seq is null or regexp_full_match(m.seq, '[0-9]{1,9}'))
            and (m.step is null or regexp_full_match(m.step, '[0-9]{1,9}'))
            and (m.seq is not null or m.step is not null)
            and is_object(call.function_call.arguments)
            and is_object(result.function_result.response)
            -- G4 keeps its configuration as base64; every later generation as an object.
            and case when m.exec_id is null then is_object(m.harness_config)
                else is_base64(m.harness_config) end
            and screened // 2 = (call.function_call.arguments is not null)::int
                + (result.function_result.response is not null)::int
                + (m.harness_config is not null)::int,
            false) as fast
    from again
)
select
    $source,
    "row",
    conversation_id,
    step,
    step,
    true,
    case when fast then coalesce(replace(m.state, '"', ''), 'STATE_UNSPECIFIED') else '' end,
    case when fast then nullif(plain(m.harness_id), '') end,
    case
        when not fast then null
        when m.exec_id is null then cast(m.harness_config as varchar)
        else plain(m.harness_config)
    end,
    case when fast then nullif(plain(m.exec_id), '') end,
    case
        when not fast then ''
        when m.exec_id is not null then 'exec'
        when m.seq is not null then 'G5'
        else 'G6'
    end,
    case when fast then 'fast' else 'careful' end,
    case when fast then content_count else 0 end,
    case
        when not fast or content_count = 0 then []
        when is_text_part or thought is not null then [struct_pack(
            kind := case when is_text_part then 'text' else 'thought' end,
            "role" := plain(role_leaf),
            call_id := cast(null as varchar),
            tool := cast(null as varchar),
            is_error := cast(null as boolean),
            signal := cast(null as varchar),
            decision := cast(null as varchar),
            "value" := cast(null as varchar),
            size := coalesce(strlen(coalesce(text_leaf, summary_leaf)), 0))]
        when call is not null then [struct_pack(
            kind := 'tool_call',
            "role" := plain(role_leaf),
            call_id := coalesce(plain(call.id), ''),
            tool := coalesce(plain(call.function_call.name), ''),
            is_error := cast(null as boolean),
            signal := cast(null as varchar),
            decision := cast(null as varchar),
            "value" := cast(null as varchar),
            size := coalesce(strlen(call.function_call.arguments), 0))]
        else [struct_pack(
            kind := 'tool_result',
            "role" := plain(role_leaf),
            call_id := coalesce(plain(result.call_id), ''),
            tool := coalesce(plain(result.function_result.name), ''),
            is_error := false,
            signal := result_signal(false, result.function_result.response),
            decision := cast(null as varchar),
            "value" := cast(null as varchar),
            size := coalesce(strlen(result.function_result.response), 0))]
    end,
    payload,
    digest
from judged;
