-- Conversations with the outcomes of their calls: one row a conversation. Parameter: $ids, or NULL
-- for all.
select
    c.*,
    coalesce(k.outcomes, []) as outcomes
from conversations c
left join (
    select source, conversation_id,
        list(struct_pack(outcome := outcome, calls := calls) order by outcome) as outcomes
    from (
        select source, conversation_id, outcome, count(*) as calls
        from tool_calls
        where $ids::varchar[] is null or conversation_id in (select unnest($ids::varchar[]))
        group by all
    )
    group by source, conversation_id
) k on k.source = c.source and k.conversation_id = c.conversation_id
where $ids::varchar[] is null or c.conversation_id in (select unnest($ids::varchar[]))
order by c.source, c.conversation_id;
