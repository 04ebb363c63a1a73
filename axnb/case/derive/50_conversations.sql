-- Conversations. `finished` and `interrupted` say what the last state is that a row names;
-- `unreadable` that one row cannot be decoded by its own generation. Parameter: $source.
insert into conversations
with
log as (
    select conversation, step, position, "row", state, true as decodes, content_count, harness_id
    from event_rows where source = $source
    union all
    select n.conversation, j.step, j.position, j."row", coalesce(j.state, 0), j.decodes, 0, null
    from rejects j
    join conversation_numbers n on n.source = j.source and n.conversation_id = j.conversation_id
    where j.source = $source
),
told as (
    select
        conversation,
        count(*) as rows_read,
        max(step) as last_step,
        bool_and(coalesce(decodes, true)) as readable,
        arg_max(state, struct_pack(p := position, r := "row")) filter (state <> 0) as last_state,
        arg_min(harness_id, struct_pack(p := position, r := "row")) filter (harness_id is not null) as harness_id,
        sum(content_count) as content_count
    from log group by conversation
),
turned as (
    select conversation_id, sum(turns)::bigint as turns, list_sort(list(generation)) as generations
    from (
        select conversation_id, generation, count(*) as turns
        from turns where source = $source group by conversation_id, generation
    )
    group by conversation_id
),
asking as (
    select conversation_id, count(*) as open_questions
    from questions where source = $source and outcome = 'awaiting-decision' group by conversation_id
)
select
    $source,
    conversation_id,
    case
        when not readable then 'unreadable'
        when last_state = 1 then 'interrupted'
        else 'finished'
    end,
    rows_read,
    last_step,
    turns,
    coalesce(open_questions, 0),
    harness_id,
    generations,
    content_count
from told
join conversation_numbers n on n.source = $source and n.conversation = told.conversation
-- Every conversation has turns; but for an inner join DuckDB makes filters first, for longer than all
-- of a small log takes.
left join turned using (conversation_id)
left join asking using (conversation_id);
