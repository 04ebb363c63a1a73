-- Calls of conversations in which every id is used once: the result with the same id is the
-- answer. The tangled ones were paired before. Parameters: $source; `paired` (temp) holds those;
-- `operation_ids` (temp) and `tool_rules` what the settings say.
insert into tool_calls
with
plain_calls as (
    select
        c.conversation, c.turn, c.step as call_step, c.position as call_position, c."row",
        c.part, c.call_id, c.tool, 1::bigint as observations, r.step as result_step,
        r.position as result_position,
        r."row" as result_row,
        case when r.position is not null then 'id' end as pairing,
        r.signal
    from marks c
    left join marks r on r.kind = 'tool_result' and r.conversation = c.conversation
        and r.turn = c.turn and r.call_id = c.call_id
    where c.kind = 'tool_call'
        and c.conversation not in (select conversation from tangled)
),
every_call as (
    select * from plain_calls
    union all by name
    select * from paired
)
select
    $source,
    n.conversation_id,
    k.turn,
    k.call_step,
    k.call_position,
    k.part,
    k.call_id,
    k.tool,
    coalesce(o.operation_id, nullif(k.call_id, '')),
    case
        when o.operation_id is not null then o.path
        when k.call_id <> '' then 'call-id'
        else 'none'
    end,
    k.observations,
    k.result_step,
    k.result_position,
    k.pairing,
    case
        when k.result_position is not null then
            case k.signal
                when 'timeout' then 'unknown'
                when 'placeholder' then 'placeholder'
                when 'pending' then 'placeholder'
                when 'error' then 'failed'
                else 'completed'
            end
        when q.outcome = 'awaiting-decision' then 'awaiting-decision'
        when q.outcome = 'declined' then 'declined'
        else 'unknown'
    end,
    coalesce(s.consequential, true),
    k."row",
    k.result_row
from every_call k
join conversation_numbers n on n.source = $source and n.conversation = k.conversation
left join operation_ids o on o."row" = k."row" and o.part = k.part
left join tool_rules s on s.source = $source and s.tool = k.tool
left join (
    select conversation_id, turn, question_id, max_by(outcome, position) as outcome
    from questions where source = $source group by all
) q on q.conversation_id = n.conversation_id and q.turn = k.turn
    and q.question_id = k.call_id and k.call_id <> '';
