-- id: AX202
-- name: partly-answered
-- severity: warning
-- empty without: tool_calls
-- only with: partly_answered_calls
--
-- Calls that were open together, and only some of them have a result. The others may have run as
-- well. Where ids do not tell which result belongs to which call, it cannot be told which call went
-- unanswered. Calls that a person declined, or has not allowed yet, do not count, and none is told
-- where only tools that change nothing (axnb.toml) were left without a result. The witness is the calls
-- without a result.
with
doubtful as (
    select source, conversation_id, turn
    from tool_calls
    group by source, conversation_id, turn
    having count(result_position) between 1 and count(*) - 1
),
calls as (
    select k.*
    from tool_calls k
    semi join doubtful d on d.source = k.source and d.conversation_id = k.conversation_id and d.turn = k.turn
),
batched as (
    -- Calls are open together if no result stands between them.
    select
        *,
        count(answered) over (
            partition by source, conversation_id, turn
            order by place, answered nulls first rows between unbounded preceding and current row
        ) as batch
    from (
        select source, conversation_id, turn, call_position as place, null as answered,
            call_step, call_position, call_row, part, result_position, consequential
        from calls
        where outcome not in ('declined', 'awaiting-decision')
        union all
        select source, conversation_id, turn, result_position, 1, null, null, null, null, null, null
        from calls
        where result_position is not null
    )
)
select
    b.source,
    b.conversation_id,
    arg_min(b.call_step, b.call_position) filter (b.result_position is null) as step,
    format('{} of {} calls that were open together {} no result.', count(*) filter (b.result_position is null), count(*),
        case when count(*) filter (b.result_position is null) = 1 then 'has' else 'have' end) as sentence,
    list(witness_row(b.call_step, e.digest) order by b.call_position, b.call_row, b.part)
        filter (b.result_position is null) as witness
from batched b
left join event_rows e on e.source = b.source and e."row" = b.call_row and b.result_position is null
where b.answered is null
group by b.source, b.conversation_id, b.turn, b.batch
having count(b.result_position) > 0 and count(*) filter (b.result_position is null and b.consequential) > 0
