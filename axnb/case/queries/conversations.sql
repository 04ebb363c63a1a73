-- Conversations with the outcomes of their calls: one row a conversation.
select
    c.*,
    coalesce(k.outcomes, []) as outcomes
from conversations c
left join (
    select source, conversation_id,
        list(struct_pack(outcome := outcome, calls := calls) order by outcome) as outcomes
    from (
        select source, conversation_id, outcome, count(*) as calls
        from tool_calls group by all
    )
    group by source, conversation_id
) k on k.source = c.source and k.conversation_id = c.conversation_id
order by c.source, c.conversation_id;
