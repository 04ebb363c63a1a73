-- The fast path for rows that hold steps: G7 or G8, which differ in the names of a row's owner (the
-- macros `owner` and `owner_shape`). As in messages.sql, a row is accepted only if every byte of it
-- is accounted for; all else is set aside. Parameter: $source.
insert into event_rows
with
parsed as (
    select
        *,
        leaves_of(document, [
            '$.conversation_id', '$.' || owner() || '_id', '$.' || owner() || '_config', '$.state',
            '$.steps[0].content.role', '$.steps[0].content.content[0].text.text',
            '$.steps[0].thought.signature', '$.steps[0].thought.summary[0].text.text',
            '$.steps[0].tool_call.id', '$.steps[0].tool_call.signature',
            '$.steps[0].tool_call.function_call.name',
            '$.steps[0].tool_call.function_call.arguments',
            '$.steps[0].tool_result.call_id', '$.steps[0].tool_result.signature',
            '$.steps[0].tool_result.function_result.name',
            '$.steps[0].tool_result.function_result.is_error',
            '$.steps[0].tool_result.function_result.result.struct_value',
            '$.steps[0].tool_result.function_result.result.string_value',
            '$.interaction_id'
        ]) as leaves
    from incoming
),
named as (
    select
        * exclude (leaves),
        leaves is not null as is_json,
        leaves[1] as id_leaf,
        leaves[2] as owner_leaf,
        leaves[3] as config_leaf,
        leaves[4] as state_leaf,
        leaves[5] as role_leaf,
        leaves[6] as text_leaf,
        leaves[7] as thought_signature,
        leaves[8] as summary_leaf,
        leaves[9] as call_id_leaf,
        leaves[10] as call_signature,
        leaves[11] as call_name_leaf,
        leaves[12] as arguments,
        leaves[13] as result_id_leaf,
        leaves[14] as result_signature,
        leaves[15] as result_name_leaf,
        leaves[16] as is_error_leaf,
        leaves[17] as struct_value,
        leaves[18] as string_value,
        -- AX never sets it; a row that came from G3 or G4 has the id of its execution there.
        leaves[19] as turn_leaf,
        case
            when coalesce(text_leaf, role_leaf) is not null then 'text'::usual_kind
            when coalesce(call_name_leaf, arguments) is not null then 'tool_call'::usual_kind
            when coalesce(result_name_leaf, struct_value, string_value) is not null then 'tool_result'::usual_kind
            when coalesce(summary_leaf, thought_signature) is not null then 'thought'::usual_kind
        end as kind,
        coalesce(arguments, struct_value, config_leaf) as object_leaf,
        case
            when struct_value is null then '}}}],"state":"STATE_PENDING"}'
            else '}}}}],"state":"STATE_PENDING"}'
        end as rest_of_row,
        -- A row has one part at most, so of these it has one at most.
        coalesce(call_name_leaf, result_name_leaf) as name_leaf,
        coalesce(thought_signature, call_signature, result_signature) as signature_leaf
    from parsed
),
-- Each leaf is counted with its key and a comma; what holds the part together is counted by its
-- kind. An object has a comma less than members. One part a row at most: rows of several steps are
-- rare and not this path's.
judged as (
    select
        *,
        coalesce(
            is_json and starts_with(document, '{')
            and strlen(document) = strlen('{}') - 1
                + held_by(kind,
                    '"steps":[{"content":{"content":[{"text":{}}]}}],',
                    '"steps":[{"thought":{}}],',
                    '"steps":[{"tool_call":{"function_call":{}}}],',
                    '"steps":[{"tool_result":{"function_result":{}}}],')
                + taken('"conversation_id":,', id_leaf)
                + taken('"interaction_id":,', turn_leaf)
                + taken('"' || owner() || '_id":,', owner_leaf)
                + taken('"' || owner() || '_config":,', config_leaf)
                + taken('"state":,', state_leaf)
                + part_length(role_leaf, text_leaf, signature_leaf, summary_leaf, call_id_leaf, name_leaf,
                    arguments, result_id_leaf)
                + taken('"is_error":,', is_error_leaf)
                + taken('"result":{"struct_value":},', struct_value)
                + taken('"result":{"string_value":},', string_value)
            and is_text(id_leaf) and is_plain(turn_leaf) and is_plain(owner_leaf) and is_state(state_leaf)
            and is_shown(string_value)
            and is_part(role_leaf, text_leaf, signature_leaf, summary_leaf, call_id_leaf, name_leaf,
                result_id_leaf)
            and coalesce(is_error_leaf in ('true', 'false'), true)
            and (struct_value is null or string_value is null)
            -- Without a leaf a number or a list of the same length could stand there.
            and case
                when kind = 'text' and text_leaf is null
                then config_leaf is null and contains(document, '"content":[{"text":{}}]')
                else true
            end
            -- A configuration without an owner is nobody's shape.
            and (config_leaf is null or owner_leaf is not null)
            -- Two free-form objects in one row could vouch for each other.
            and (config_leaf is null or coalesce(arguments, struct_value) is null)
            and case when object_leaf is null then true
                else is_object(object_leaf, rest_of_row, document) end,
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
    cast(config_leaf as varchar),
    nullif(plain(turn_leaf), ''),
    case
        when owner_leaf is not null then owner_shape()
        when kind is not null or turn_leaf is not null then 'steps'::row_shape
        else 'state'::row_shape
    end,
    true,
    case when kind is null then 0 else 1 end,
    kind,
    plain(role_leaf),
    of_call(kind, coalesce(call_id_leaf, result_id_leaf)),
    of_call(kind, name_leaf),
    case when kind = 'tool_result' then coalesce(is_error_leaf = 'true', false) end,
    case when kind = 'tool_result'
        then result_signal(is_error_leaf = 'true', coalesce(struct_value, string_value)) end,
    case when kind is not null
        then coalesce(strlen(text_leaf), strlen(summary_leaf), strlen(string_value), strlen(object_leaf), 0)
    end,
    payload,
    digest
from judged
where case when fast then true else set_aside("row", conversation, step, payload) end;
