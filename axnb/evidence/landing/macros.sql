-- A JSON string leaf, as its text. Without a backslash the quotes are the only difference.
create or replace temp macro plain(leaf) as
    case when contains(leaf, '\') then json_extract_string(leaf, '$') else replace(leaf, '"', '') end;

-- Is a leaf absent, a text, an object?
create or replace temp macro is_text(leaf) as leaf is null or starts_with(leaf, '"');
create or replace temp macro is_object(leaf) as leaf is null or starts_with(leaf, '{');

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
        when value is null or not starts_with(value, '{') or not contains(lower(value), 'error')
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
        when lower(coalesce(
            try(json_extract_string(value, '$.status')), try(json_extract_string(value, '$.state'))
        )) in (
            'pending', 'queued', 'running', 'in_progress', 'in progress', 'in-progress',
            'processing', 'accepted', 'submitted', 'scheduled', 'waiting', 'started', 'deferred',
            'unknown'
        ) then 'pending'
    end;

-- How long an object is with members of the given lengths, and a member with a value of a given
-- length: its name in quotes, a colon and a comma. A member that is absent takes nothing.
create or replace temp macro object_length(members) as 2 + greatest(members - 1, 0);
create or replace temp macro member_length(name, value_length) as
    coalesce(strlen(name) + 4 + value_length, 0);

-- Is every byte of a row accounted for? What was taken out of a row is never longer than it stands
-- there (the screen refuses numbers of which that is not so), so nothing can hide in a row of
-- exactly the expected length. Rows with spaces between their tokens are minified first, unless
-- they have a comma before a bracket, which DuckDB would overlook, or a key that the screen cannot
-- find, since it has a space before its colon or is spelled by escapes; or they were checked as a
-- whole.
create or replace temp macro is_all(expected, payload, whole) as
    case
        when expected is null then false
        when expected = strlen(payload) then true
        when whole or not regexp_matches(payload, ',\s*[\]}]|"\s+:|\\u00[2-7]') then expected = strlen(json(payload))
    end;
