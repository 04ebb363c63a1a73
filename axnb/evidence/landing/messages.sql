-- The fast path for rows that hold messages: G3 to G6. It accepts a row only if every byte of it is
-- accounted for: the lengths of what was taken out of it and of the keys around that make up its
-- own. So nothing in an accepted row went unseen: no unknown key, no duplicate, no other spelling,
-- no null. What is not accepted lands with route `careful`.
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
measured as (
    select
        *,
        object_length(
            member_length('conversation_id', strlen(m.conversation_id))
            + member_length('seq', strlen(m.seq))
            + member_length('step', strlen(m.step))
            + member_length('exec_id', strlen(m.exec_id))
            + member_length('harness_id', strlen(m.harness_id))
            + member_length('harness_config', strlen(m.harness_config))
            + member_length('messages', case when content_count = 1 then 2 + object_length(
                member_length('role', strlen(role_leaf))
                + member_length('content', case when has_content then object_length(
                    case
                        when is_text_part then member_length('text',
                            object_length(member_length('text', strlen(text_leaf))))
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
                                    + member_length('response', strlen(result.function_result.response))) end)))
                    end) end)) end)
            + member_length('state', strlen(m.state))
        ) as expected
    from parted
),
judged as (
    select
        *,
        m is not null and starts_with(payload, '{') and coalesce(
            is_all(case when m is not null then expected end, payload, screened % 2 = 1)
            and content_count <= 1
            and content_count = is_text_part::int + (thought is not null)::int
                + (call is not null)::int + (result is not null)::int
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
                or result.function_result.response is not null)
            and (not is_text_part or text_leaf is not null
                or m.harness_config is null and contains(payload, '"content":{"text":{}}'))
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
    from measured
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
        when not fast then null
        when is_text_part then 'text'
        when thought is not null then 'thought'
        when call is not null then 'tool_call'
        when result is not null then 'tool_result'
    end,
    case when fast then plain(role_leaf) end,
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
    case when fast and result is not null then false end,
    case when fast and result is not null
        then result_signal(false, result.function_result.response) end,
    null,
    null,
    case when fast and content_count = 1
        then coalesce(strlen(coalesce(text_leaf, summary_leaf, call.function_call.arguments,
            result.function_result.response)), 0) end,
    null,
    payload,
    digest
from judged;
