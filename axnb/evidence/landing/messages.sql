-- The fast path for rows that hold messages: G3 to G6. It accepts a row only if every byte of it is
-- accounted for: the lengths of what was taken out of it and of the keys around that make up its
-- own. So nothing in an accepted row went unseen: no unknown key, no duplicate, no other spelling,
-- no null. What is not accepted is set aside.
--
-- `incoming` comes from the screen: `document` is the payload, or the same in one spelling. What is
-- taken out of it is spelled by DuckDB, and is never longer than it stands there: strings cannot be,
-- and of free-form objects `is_object` knows. Parameter: $source.
insert into event_rows
with
parsed as (
    select
        *,
        leaves_of(document, [
            '$.conversation_id', '$.seq', '$.step', '$.exec_id', '$.harness_id',
            '$.harness_config', '$.state',
            '$.messages[0].role', '$.messages[0].content.text.text',
            '$.messages[0].content.thought.signature',
            '$.messages[0].content.thought.summary[0].text.text',
            '$.messages[0].content.tool_call.id', '$.messages[0].content.tool_call.signature',
            '$.messages[0].content.tool_call.function_call.name',
            '$.messages[0].content.tool_call.function_call.arguments',
            '$.messages[0].content.tool_result.call_id',
            '$.messages[0].content.tool_result.signature',
            '$.messages[0].content.tool_result.function_result.name',
            '$.messages[0].content.tool_result.function_result.response'
        ]) as leaves
    from incoming
),
named as (
    select
        * exclude (leaves),
        leaves is not null as is_json,
        leaves[1] as id_leaf,
        leaves[2] as seq_leaf,
        leaves[3] as step_leaf,
        leaves[4] as exec_leaf,
        leaves[5] as owner_leaf,
        leaves[6] as config_leaf,
        leaves[7] as state_leaf,
        leaves[8] as role_leaf,
        leaves[9] as text_leaf,
        leaves[10] as thought_signature,
        leaves[11] as summary_leaf,
        leaves[12] as call_id_leaf,
        leaves[13] as call_signature,
        leaves[14] as call_name_leaf,
        leaves[15] as arguments,
        leaves[16] as result_id_leaf,
        leaves[17] as result_signature,
        leaves[18] as result_name_leaf,
        leaves[19] as response,
        case
            when text_leaf is not null then 'text'::usual_kind
            when coalesce(call_name_leaf, arguments) is not null then 'tool_call'::usual_kind
            when coalesce(result_name_leaf, response) is not null then 'tool_result'::usual_kind
            when coalesce(summary_leaf, thought_signature) is not null then 'thought'::usual_kind
            -- A text without a character in it.
            when role_leaf is not null then 'text'::usual_kind
        end as kind,
        -- A row of G6 that came from there has the id of its execution as well.
        exec_leaf is not null and (step_leaf is null or seq_leaf is not null) as is_exec,
        -- G4 keeps its configuration as base64; every later generation as an object.
        case when not is_exec then config_leaf end as config_object,
        coalesce(arguments, response, config_object) as object_leaf,
        -- A row has one part at most, so of these it has one at most.
        coalesce(call_name_leaf, result_name_leaf) as name_leaf,
        coalesce(thought_signature, call_signature, result_signature) as signature_leaf
    from parsed
),
-- Each leaf is counted with its key and a comma; what holds the part together is counted by its
-- kind. An object has a comma less than members. One part a row at most: rows of several messages
-- are rare and not this path's.
judged as (
    select
        *,
        coalesce(
            is_json and starts_with(document, '{')
            and strlen(document) = strlen('{}') - 1
                + held_by(kind,
                    '"messages":[{"content":{"text":{}}}],',
                    '"messages":[{"content":{"thought":{}}}],',
                    '"messages":[{"content":{"tool_call":{"function_call":{}}}}],',
                    '"messages":[{"content":{"tool_result":{"function_result":{}}}}],')
                + taken('"conversation_id":,', id_leaf)
                + taken('"seq":,', seq_leaf)
                + taken('"step":,', step_leaf)
                + taken('"exec_id":,', exec_leaf)
                + taken('"harness_id":,', owner_leaf)
                + taken('"harness_config":,', config_leaf)
                + taken('"state":,', state_leaf)
                + part_length(role_leaf, text_leaf, signature_leaf, summary_leaf, call_id_leaf, name_leaf,
                    arguments, result_id_leaf)
                + taken('"response":,', response)
            and is_text(id_leaf) and is_plain(exec_leaf) and is_plain(owner_leaf)
            and is_state(state_leaf)
            and coalesce(seq_leaf, step_leaf) is not null
            and coalesce(regexp_full_match(seq_leaf, '[0-9]{1,9}'), true)
            and coalesce(regexp_full_match(step_leaf, '[0-9]{1,9}'), true)
            and is_part(role_leaf, text_leaf, signature_leaf, summary_leaf, call_id_leaf, name_leaf,
                result_id_leaf)
            -- Without a leaf a number or a list of the same length could stand there.
            and case
                when kind = 'text' and text_leaf is null
                then config_leaf is null and contains(document, '"content":{"text":{}}')
                else true
            end
            and (not is_exec or is_base64(config_leaf))
            -- Two free-form objects in one row could vouch for each other.
            and (config_leaf is null or coalesce(arguments, response) is null)
            and case when object_leaf is null then true
                else is_object(object_leaf, '}}}}],"state":"STATE_PENDING"}', document) end,
            false) as fast
    from named
)
select
    $source,
    "row",
    conversation,
    step,
    step,
    true,
    state_number(state_leaf),
    nullif(plain(owner_leaf), ''),
    case when is_exec then plain(config_leaf) else cast(config_leaf as varchar) end,
    nullif(plain(exec_leaf), ''),
    case
        when is_exec then 'exec'::row_shape
        when seq_leaf is not null then 'G5'::row_shape
        else 'G6'::row_shape
    end,
    true,
    case when kind is null then 0 else 1 end,
    kind,
    plain(role_leaf),
    of_call(kind, coalesce(call_id_leaf, result_id_leaf)),
    of_call(kind, name_leaf),
    case when kind = 'tool_result' then false end,
    case when kind = 'tool_result' then result_signal(false, response) end,
    case when kind is not null
        then coalesce(strlen(text_leaf), strlen(summary_leaf), strlen(object_leaf), 0)
    end,
    payload,
    digest
from judged
where case when fast then true else set_aside("row", conversation, step, payload) end;
