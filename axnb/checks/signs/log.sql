-- Signs of what checks of logs look for: without its sign, a check can find nothing. To plan a check
-- takes longer than to look for all signs at once, and most logs show few of them. A sign is a column
-- that is true where it is seen; it may be seen where the check then finds nothing, and never the other
-- way round.
select *
from (
    select
        bool_or(outcome in ('unknown', 'placeholder') and consequential) as unknown_calls,
        bool_or(result_position is null) as unanswered_calls,
        count(result_position) between 1 and count(*) - 1 as partly_answered_calls,
        bool_or(result_position < call_position) as early_results,
        bool_or(tool = '') as nameless_tools,
        count(*) > 1 as several_calls,
        count(*) filter (starts_with(operation_id_from, '$')) > 1 as several_ruled_calls
    from tool_calls
) of_calls, (
    select
        bool_or(ended = 'interrupted') as interrupted_turns,
        bool_or(input_step is null and ended <> 'unspecified') as turns_without_input,
        bool_or(input_step is not null and harness_id is null) as turns_without_harness
    from turns
) of_turns, (
    select
        bool_or(state in (2, 4)) as odd_ends,
        bool_or(state = 1 and content_count = 0) as empty_inputs,
        bool_or(content_count > 1 and harness_id is null) as several_contents,
        bool_or(content_count > 0 and not fast) as careful_contents,
        bool_or(exec_id is not null) as executions_named,
        min(harness_id) <> max(harness_id) as several_harnesses,
        count(*) >= 10000 or sum(strlen(payload)) >= 16 * 1048576 as much_content,
        coalesce(max(strlen(payload)) > 4 * 1048576, false)
            or exists (from rejects where reason = 'too large') as large_rows
    from event_rows
) of_rows, (
    select
        bool_or(last - first + 1 <> numbers) as gaps,
        bool_or(first > 1) as late_beginnings,
        bool_or(last > 2147483647 - 1000) as high_numbers,
        bool_or(lowest < 1) as low_numbers
    from (
        select
            min(step) as lowest,
            min(step) filter (step >= 1) as first,
            max(step) filter (step >= 1) as last,
            count(distinct step) filter (step >= 1) as numbers
        from log_rows
        group by source, conversation
    )
) of_numbers
