-- The fast path. It accepts a row only if it can write the row again from what it took out of
-- it: the same text, or the same length once both are minified. So nothing in an accepted row went
-- unseen: no unknown key, no duplicate, no other spelling, no second member of a oneof. What is not
-- accepted lands with route `careful` and is decoded row by row.
--
-- `incoming` (row, conversation_id, step, payload, digest, plain, loose, free_objects) comes from
-- the screen, which has looked into the free-form objects. Parameters: $source, $column.
insert into events
with
parsed as (
    select
        *,
        case
            when plain and json_valid(payload) and is_message
                then json_transform(payload, '{"conversation_id":"JSON","seq":"JSON","step":"JSON","exec_id":"JSON","harness_id":"JSON","harness_config":"JSON","messages":[{"role":"JSON","content":{"text":{"text":"JSON"},"thought":{"signature":"JSON","summary":[{"text":{"text":"JSON"}}]},"tool_call":{"id":"JSON","signature":"JSON","function_call":{"name":"JSON","arguments":"JSON"}},"tool_result":{"call_id":"JSON","signature":"JSON","function_result":{"name":"JSON","response":"JSON"}}}}],"state":"JSON"}')
        end as m,
        case
            when plain and json_valid(payload) and not is_message
                then json_transform(payload, '{"conversation_id":"JSON","harness_id":"JSON","agent_id":"JSON","harness_config":"JSON","agent_config":"JSON","steps":[{"content":{"role":"JSON","content":[{"text":{"text":"JSON"}}]},"thought":{"signature":"JSON","summary":[{"text":{"text":"JSON"}}]},"tool_call":{"id":"JSON","signature":"JSON","function_call":{"name":"JSON","arguments":"JSON"}},"tool_result":{"call_id":"JSON","signature":"JSON","function_result":{"name":"JSON","is_error":"JSON","result":{"struct_value":"JSON","string_value":"JSON"}}}}],"state":"JSON"}')
        end as s
    from (
        select *, $column = 'seq' or contains(payload, '"step":') or contains(payload, '"messages":') as is_message
        from incoming
    )
),
-- One part a row at most: `c` is the content of a message, `t` that of a step.
parted as (
    select
        *,
        m.messages[1].content as c,
        s.steps[1] as t,
        coalesce(m.messages[1].content.thought, s.steps[1].thought) as thought,
        coalesce(m.messages[1].content.text.text, s.steps[1].content.content[1].text.text) as text_leaf,
        coalesce(m.messages[1].content.tool_call, s.steps[1].tool_call) as call,
        coalesce(m.messages[1].content.tool_result.call_id, s.steps[1].tool_result.call_id) as result_id,
        coalesce(m.messages[1].content.tool_result.signature, s.steps[1].tool_result.signature) as result_signature,
        coalesce(m.messages[1].content.tool_result.function_result.name, s.steps[1].tool_result.function_result.name) as result_name,
        s.steps[1].tool_result.function_result.is_error as error_leaf,
        m.messages[1].content.tool_result.function_result.response as response,
        s.steps[1].tool_result.function_result.result as answer,
        coalesce(m.messages[1].role, s.steps[1].content.role) as role_leaf,
        coalesce(len(m.messages), len(s.steps), 0) as content_count,
        coalesce(m.harness_config, s.harness_config, s.agent_config) as config_leaf,
        coalesce(m.harness_id, s.harness_id, s.agent_id) as owner_leaf,
        coalesce(m.state, s.state) as state_leaf
    from parsed
),
kinded as (
    select
        *,
        case
            when c.text is not null or t.content is not null then 'text'
            when thought is not null then 'thought'
            when call is not null then 'tool_call'
            when c.tool_result is not null or t.tool_result is not null then 'tool_result'
        end as kind,
        (c.text is not null)::int + (t.content is not null)::int + (thought is not null)::int
            + (call is not null)::int + (c.tool_result is not null)::int
            + (t.tool_result is not null)::int as kinds
    from parted
),
written as (
    select
        *,
        case kind
            when 'text' then
                case
                    when c.text is not null
                        then concat('"text":{', '"text":' || text_leaf, '}')
                    when t.content.content is null
                        then concat('"content":{', '"role":' || role_leaf, '}')
                    else concat(
                        '"content":{', concat_ws(',', '"role":' || role_leaf,
                            concat('"content":[{"text":{', '"text":' || text_leaf, '}}]')), '}')
                end
            when 'thought' then concat(
                '"thought":{',
                concat_ws(',', '"signature":' || thought.signature,
                    case when len(thought.summary) = 1
                        then concat('"summary":[{"text":{', '"text":' || thought.summary[1].text.text, '}}]')
                    end),
                '}')
            when 'tool_call' then concat(
                '"tool_call":{',
                concat_ws(',', '"id":' || call.id, '"signature":' || call.signature,
                    case when call.function_call is not null
                        then concat('"function_call":{', concat_ws(',', '"name":' || call.function_call.name,
                            '"arguments":' || call.function_call.arguments), '}')
                    end),
                '}')
            when 'tool_result' then concat(
                '"tool_result":{',
                concat_ws(',', '"call_id":' || result_id, '"signature":' || result_signature,
                    case
                        when c.tool_result.function_result is not null
                            then concat('"function_result":{', concat_ws(',', '"name":' || result_name,
                                '"response":' || response), '}')
                        when t.tool_result.function_result is not null
                            then concat('"function_result":{', concat_ws(',', '"name":' || result_name,
                                '"is_error":' || error_leaf,
                                case when answer is not null
                                    then concat('"result":{', '"struct_value":' || answer.struct_value,
                                        '"string_value":' || answer.string_value, '}')
                                end), '}')
                    end),
                '}')
        end as part_text
    from kinded
),
judged as (
    select
        *,
        concat(
            '{', concat_ws(',',
                '"conversation_id":' || coalesce(m.conversation_id, s.conversation_id),
                '"seq":' || m.seq, '"step":' || m.step, '"exec_id":' || m.exec_id,
                '"harness_id":' || coalesce(m.harness_id, s.harness_id),
                '"agent_id":' || s.agent_id,
                '"harness_config":' || coalesce(m.harness_config, s.harness_config),
                '"agent_config":' || s.agent_config,
                case
                    when len(m.messages) = 1 then concat('"messages":[{', concat_ws(',',
                        '"role":' || role_leaf, case when c is not null then concat('"content":{', part_text, '}') end), '}]')
                    when len(s.steps) = 1 then concat('"steps":[{', part_text, '}]')
                end,
                '"state":' || state_leaf),
            '}') as again
    from written
),
accepted as (
    select
        *,
        coalesce(
            case
                when again = payload then true
                -- Some builds of AX put a space after each comma. What `again` holds came out of
                -- the payload, so texts that are equal without those spaces are equal.
                when contains(payload, ', ') and replace(again, ', ', ',') = replace(payload, ', ', ',')
                    then true
                when loose then strlen(again) = strlen(json(payload))
            end
            and kinds = content_count and content_count <= 1
            and is_text(coalesce(m.conversation_id, s.conversation_id))
            and is_text(m.exec_id) and is_text(owner_leaf) and is_state(state_leaf)
            and is_text(role_leaf) and is_text(text_leaf)
            and is_text(thought.summary[1].text.text) and is_base64(thought.signature)
            and is_text(call.id) and is_text(call.function_call.name) and is_base64(call.signature)
            and is_text(result_id) and is_text(result_name) and is_base64(result_signature)
            and coalesce(error_leaf in ('true', 'false'), true)
            and is_text(answer.string_value)
            and (answer.struct_value is null or answer.string_value is null)
            and (s.harness_id is null or s.agent_id is null)
            and (m.seq is null or regexp_full_match(m.seq, '[0-9]{1,9}'))
            and (m.step is null or regexp_full_match(m.step, '[0-9]{1,9}'))
            and (m is null or m.seq is not null or m.step is not null)
            and is_object(call.function_call.arguments) and is_object(response)
            and is_object(answer.struct_value)
            and (is_object(config_leaf) or (m.exec_id is not null and is_base64(config_leaf)))
            and (m is null or m.exec_id is null or is_text(config_leaf))
            and free_objects = (call.function_call.arguments is not null)::int
                + (response is not null)::int + (answer.struct_value is not null)::int
                + (config_leaf is not null)::int,
            false) as fast
    from judged
)
select
    $source,
    "row",
    conversation_id,
    step,
    step,
    true,
    case when fast then coalesce(replace(state_leaf, '"', ''), 'STATE_UNSPECIFIED') else '' end,
    case when fast then nullif(plain(owner_leaf), '') end,
    case when fast then config_leaf end,
    case when fast then plain(m.exec_id) end,
    case
        when not fast then ''
        when m.exec_id is not null then 'exec'
        when m.seq is not null then 'G5'
        when m.step is not null then 'G6'
        when s.harness_id is not null then 'G7'
        when s.agent_id is not null then 'G8'
        when s.steps is not null then 'steps'
        else 'state'
    end,
    case when fast then 'fast' else 'careful' end,
    case when fast then content_count else 0 end,
    case
        when not fast or kind is null then []
        else [struct_pack(
            kind := kind,
            "role" := plain(role_leaf),
            call_id := case kind
                when 'tool_call' then coalesce(plain(call.id), '')
                when 'tool_result' then coalesce(plain(result_id), '')
            end,
            tool := case kind
                when 'tool_call' then coalesce(plain(call.function_call.name), '')
                when 'tool_result' then coalesce(plain(result_name), '')
            end,
            is_error := case when kind = 'tool_result' then coalesce(error_leaf = 'true', false) end,
            signal := case when kind = 'tool_result'
                then result_signal(error_leaf = 'true', coalesce(response, answer.struct_value, answer.string_value)) end,
            decision := cast(null as varchar),
            "value" := cast(null as varchar),
            size := coalesce(strlen(coalesce(text_leaf, thought.summary[1].text.text,
                call.function_call.arguments, response, answer.struct_value, answer.string_value)), 0)
        )]
    end,
    payload,
    digest
from accepted;
