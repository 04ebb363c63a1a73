-- The fast path for rows that hold steps: G7 and G8. As in messages.sql, a row is accepted only if
-- every byte of it is accounted for; all else lands with route `careful`.
-- Parameter: $source; `incoming` comes from the screen.
insert into events
with
parsed as (
    select *, case when screened >= 0 and json_valid(payload) then json_transform(payload, '{"conversation_id":"JSON","harness_id":"JSON","agent_id":"JSON","harness_config":"JSON","agent_config":"JSON","steps":[{"content":{"role":"JSON","content":[{"text":{"text":"JSON"}}]},"thought":{"signature":"JSON","summary":[{"text":{"text":"JSON"}}]},"tool_call":{"id":"JSON","signature":"JSON","function_call":{"name":"JSON","arguments":"JSON"}},"tool_result":{"call_id":"JSON","signature":"JSON","function_result":{"name":"JSON","is_error":"JSON","result":{"struct_value":"JSON","string_value":"JSON"}}}}],"state":"JSON"}') end as s
    from incoming
),
-- One part a row at most: rows of several steps are rare and take the careful path.
first_item as (
    select
        *, s.steps[1] as item, coalesce(len(s.steps), 0) as content_count,
        coalesce(s.harness_config, s.agent_config) as config_leaf
    from parsed
),
parted as (
    select
        * exclude (item),
        item.content as content,
        item.content.content[1].text.text as text_leaf,
        item.thought as thought,
        item.thought.summary[1].text.text as summary_leaf,
        item.tool_call as call,
        item.tool_result as result,
        item.tool_result.function_result.result as answer
    from first_item
),
measured as (
    select
        *,
        object_length(
            member_length('conversation_id', strlen(s.conversation_id))
            + member_length('harness_id', strlen(s.harness_id))
            + member_length('agent_id', strlen(s.agent_id))
            + member_length('harness_config', strlen(s.harness_config))
            + member_length('agent_config', strlen(s.agent_config))
            + member_length('steps', case when content_count = 1 then 2 + object_length(
                case
                    when content is not null then member_length('content', object_length(
                        member_length('role', strlen(content.role))
                        + member_length('content', 2 + object_length(member_length('text',
                            object_length(member_length('text', strlen(text_leaf))))))))
                    when thought is not null then member_length('thought', object_length(
                        member_length('signature', strlen(thought.signature))
                        + member_length('summary', case when len(thought.summary) = 1
                            then 2 + object_length(member_length('text',
                                object_length(member_length('text', strlen(summary_leaf))))) end)))
                    when call is not null then member_length('tool_call', object_length(
                        member_length('id', strlen(call.id))
                        + member_length('signature', strlen(call.signature))
                        + member_length('function_call', case when call.function_call is not null
                            then object_length(
                                member_length('name', strlen(call.function_call.name))
                                + member_length('arguments', strlen(call.function_call.arguments))) end)))
                    when result is not null then member_length('tool_result', object_length(
                        member_length('call_id', strlen(result.call_id))
                        + member_length('signature', strlen(result.signature))
                        + member_length('function_result', case when result.function_result is not null
                            then object_length(
                                member_length('name', strlen(result.function_result.name))
                                + member_length('is_error', strlen(result.function_result.is_error))
                                + member_length('result', case when answer is not null
                                    then object_length(
                                        member_length('struct_value', strlen(answer.struct_value))
                                        + member_length('string_value', strlen(answer.string_value))) end)) end)))
                end) end)
            + member_length('state', strlen(s.state))
        ) as expected
    from parted
),
judged as (
    select
        *,
        s is not null and starts_with(payload, '{') and coalesce(
            is_all(case when s is not null then expected end, payload, screened % 2 = 1)
            and content_count <= 1
            and content_count = (content is not null)::int + (thought is not null)::int
                + (call is not null)::int + (result is not null)::int
            -- A content step without content, or with another kind, is not this path's.
            and (content is null or len(content.content) = 1)
            -- What holds nothing may be no object at all: a number or a list counts as `{}` here.
            and (thought is null or thought.signature is not null or summary_leaf is not null)
            and (thought is null or len(thought.summary) is null or summary_leaf is not null)
            and (call is null or call.id is not null or call.signature is not null
                or call.function_call is not null)
            and (call.function_call is null or call.function_call.name is not null
                or call.function_call.arguments is not null)
            and (result is null or result.call_id is not null or result.signature is not null
                or result.function_result is not null)
            and (result.function_result is null or result.function_result.name is not null
                or result.function_result.is_error is not null or answer is not null)
            and (answer is null or answer.struct_value is not null or answer.string_value is not null)
            and (content is null or text_leaf is not null
                or config_leaf is null and contains(payload, '"content":[{"text":{}}]'))
            and is_text(s.conversation_id) and is_text(s.harness_id) and is_text(s.agent_id)
            and (s.harness_id is null or s.agent_id is null)
            and is_state(s.state) and is_text(content.role) and is_text(text_leaf)
            and is_text(summary_leaf) and is_base64(thought.signature)
            and is_text(call.id) and is_text(call.function_call.name) and is_base64(call.signature)
            and is_text(result.call_id) and is_text(result.function_result.name)
            and is_base64(result.signature)
            and coalesce(result.function_result.is_error in ('true', 'false'), true)
            and is_text(answer.string_value)
            and (answer.struct_value is null or answer.string_value is null)
            and is_object(call.function_call.arguments) and is_object(answer.struct_value)
            -- A configuration under the other generation's key is nobody's shape.
            and (s.harness_config is null or s.harness_id is not null and s.agent_config is null)
            and (s.agent_config is null or s.agent_id is not null)
            and is_object(config_leaf)
            and screened // 2 = (call.function_call.arguments is not null)::int
                + (answer.struct_value is not null)::int + (config_leaf is not null)::int,
            false) as fast
    from measured
)
select
    $source,
    "row",
    conversation_id,
    step,
    step,
    true,
    case when fast then coalesce(replace(s.state, '"', ''), 'STATE_UNSPECIFIED') else '' end,
    case when fast then nullif(plain(coalesce(s.harness_id, s.agent_id)), '') end,
    case when fast then cast(config_leaf as varchar) end,
    cast(null as varchar),
    case
        when not fast then ''
        when s.harness_id is not null then 'G7'
        when s.agent_id is not null then 'G8'
        when s.steps is not null then 'steps'
        else 'state'
    end,
    case when fast then 'fast' else 'careful' end,
    case when fast then content_count else 0 end,
    case
        when not fast then null
        when content is not null then 'text'
        when thought is not null then 'thought'
        when call is not null then 'tool_call'
        when result is not null then 'tool_result'
    end,
    case when fast then plain(content.role) end,
    case
        when not fast then null
        when call is not null then coalesce(plain(call.id), '')
        when result is not null then coalesce(plain(result.call_id), '')
    end,
    case
        when not fast then null
        when call is not null then coalesce(plain(call.function_call.name), '')
        when result is not null then coalesce(plain(result.function_result.name), '')
    end,
    case when fast and result is not null
        then coalesce(result.function_result.is_error = 'true', false) end,
    case when fast and result is not null
        then result_signal(result.function_result.is_error = 'true',
            coalesce(answer.struct_value, answer.string_value)) end,
    null,
    null,
    case when fast and content_count = 1
        then coalesce(strlen(coalesce(text_leaf, summary_leaf, call.function_call.arguments,
            answer.struct_value, answer.string_value)), 0) end,
    null,
    payload,
    digest
from judged;
