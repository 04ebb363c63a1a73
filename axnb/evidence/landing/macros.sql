-- What stands at some paths of a JSON text, as JSON texts. One row that is no JSON ends the whole
-- query; `guarded.sql` has the form that takes half as long again, and minds no such row.
create or replace temp macro leaves_of(document, paths) as json_extract(document, paths);

-- Is a leaf absent, or a text; is it one without escapes, and which?
create or replace temp macro is_text(leaf) as coalesce(starts_with(leaf, '"'), true);
create or replace temp macro is_plain(leaf) as
    coalesce(starts_with(leaf, '"') and not contains(leaf, '\'), true);
create or replace temp macro plain(leaf) as replace(leaf, '"', '');

-- Is a leaf absent, or a text that DuckDB can show? Of a NUL it would show the escape.
create or replace temp macro is_shown(leaf) as
    coalesce(starts_with(leaf, '"') and not contains(leaf, '\u0000'), true);

-- Does a free-form object stand in its document as it was taken out (DuckDB spells some numbers anew,
-- and then their length says nothing), and does a strict reader take it as well? That of a part
-- stands before the end of the row, where it is found sooner.
create or replace temp macro is_object(leaf, rest, document) as
    starts_with(leaf, '{')
    and case when ends_with(document, leaf || rest) then true else contains(document, leaf) end
    and is_strict(leaf);

-- Base64 in the form that AX writes: standard alphabet, padded.
create or replace temp macro is_base64(leaf) as
    leaf is null
    or (strlen(leaf) % 4 = 2 and regexp_full_match(leaf, '"[A-Za-z0-9+/]*={0,2}"'));

create or replace temp macro is_state(leaf) as
    leaf is null
    or leaf in (
        '"STATE_PENDING"', '"STATE_COMPLETED"', '"STATE_FAILED"', '"STATE_CANCELED"',
        '"STATE_UNSPECIFIED"'
    );

-- An error that is told inside the result's own object.
create or replace temp macro has_error(value) as
    case
        -- Most results have none of the keys, and need not be taken apart to know it.
        when value is null or not starts_with(value, '{')
            or not (contains(value, 'rror"') or contains(value, '"stat'))
            then false
        else
            lower(coalesce(json_extract_string(value, '$.is_error'), '')) = 'true'
            or lower(coalesce(json_extract_string(value, '$.isError'), '')) = 'true'
            or lower(coalesce(json_extract_string(value, '$.status'), '')) = 'error'
            or coalesce(json_extract_string(value, '$.error'), 'false')
                not in ('false', '', '0', '{}', '[]', 'null')
    end;

-- What a result says beyond its data, by its structure first:
--   timeout      an error after which the effect may have happened all the same
--   placeholder  an error that only says that the call was cut off: nobody saw an outcome
--   pending      an answer that says that the work goes on
--   error        any other error
create or replace temp macro result_signal(is_error, value) as
    case
        when coalesce(is_error, false) or has_error(value) then
            case
                when regexp_matches(
                    lower(value),
                    'time[ds]?[ _-]?out|deadline|etimedout|econnreset|connection[ _-](reset|closed|lost|aborted)|broken pipe|unexpected eof|hang up|hung up|unavailable|unreachable|no response|bad gateway|gateway|unknown outcome|network'
                ) then 'timeout'
                when value is null
                    or regexp_matches(
                        lower(value),
                        'cancel|interrupt|abort|killed|shut ?down|restart|crash|placeholder|skipped|superseded|not (yet )?(executed|run|finished|completed)|no (result|output)|never (ran|executed|finished)|did not (run|finish|complete)'
                    ) then 'placeholder'
                else 'error'
            end
        when not contains(value, '"stat') then null
        when lower(coalesce(
            try(json_extract_string(value, '$.status')), try(json_extract_string(value, '$.state'))
        )) in (
            'pending', 'queued', 'running', 'in_progress', 'in progress', 'in-progress',
            'processing', 'accepted', 'submitted', 'scheduled', 'waiting', 'started', 'deferred',
            'unknown'
        ) then 'pending'
    end;

-- How many bytes of a row a leaf accounts for, with the text around it; none if it is absent.
create or replace temp macro taken(around, leaf) as coalesce(strlen(around) + strlen(leaf), 0);

-- How many bytes hold a part together, by its kind: what stands around its leaves. Leaves are counted
-- with a comma each, only a text without, and an object has a comma less than members.
create or replace temp macro held_by(kind, a_text, a_thought, a_call, a_result) as
    case kind
        when 'text' then strlen(a_text)
        when 'thought' then strlen(a_thought) - 1
        when 'tool_call' then strlen(a_call) - 1
        when 'tool_result' then strlen(a_result) - 1
        else 0
    end;

-- The leaves that a part has in both families: what they account for, and whether they are texts of
-- the right kind.
create or replace temp macro part_length(
    role_leaf, text_leaf, signature_leaf, summary_leaf, call_id_leaf, name_leaf, arguments,
    result_id_leaf
) as
    taken('"role":,', role_leaf)
    + taken('"text":', text_leaf)
    + taken('"signature":,', signature_leaf)
    + taken('"summary":[{"text":{"text":}}],', summary_leaf)
    + taken('"id":,', call_id_leaf)
    + taken('"name":,', name_leaf)
    + taken('"arguments":,', arguments)
    + taken('"call_id":,', result_id_leaf);
create or replace temp macro is_part(
    role_leaf, text_leaf, signature_leaf, summary_leaf, call_id_leaf, name_leaf, result_id_leaf
) as
    is_shown(text_leaf) and is_shown(summary_leaf)
    and is_plain(role_leaf) and is_base64(signature_leaf)
    and is_plain(call_id_leaf) and is_plain(result_id_leaf) and is_plain(name_leaf);

-- AX's number of the state that a leaf names.
create or replace temp macro state_number(leaf) as
    case leaf
        when '"STATE_PENDING"' then 1 when '"STATE_FAILED"' then 2
        when '"STATE_COMPLETED"' then 3 when '"STATE_CANCELED"' then 4 else 0
    end;

-- What only calls and results have; a leaf that is absent is an empty text.
create or replace temp macro of_call(kind, leaf) as
    case when kind in ('tool_call', 'tool_result') then coalesce(plain(leaf), '') end;
