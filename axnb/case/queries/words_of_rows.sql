-- In whose words the rows of each conversation are: a line for each shape, in the order in which it
-- first stands there. Parameter: $source.
select
    n.conversation_id,
    cast(e.shape as varchar) as shape,
    min(e.step) as first_step,
    max(e.step) as last_step,
    count(*) as rows,
    sum(e.content_count) as contents,
    arg_min(e.harness_id, e.position) filter (e.harness_id is not null) as owner,
    arg_min(e.step, e.position) filter (e.harness_id is not null) as owner_step
from event_rows e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
where e.source = $source
group by n.conversation_id, e.shape
order by n.conversation_id, min(e.position), e.shape;
