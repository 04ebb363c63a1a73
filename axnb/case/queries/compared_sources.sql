-- Two logs of the same conversations: how many rows of each conversation both have at the same step
-- with the same text, with another text, or only one has. Parameters: $left, $right (sources).
with
texts as (
    select n.conversation_id, l.step, l.digest, count(*) filter (l.source = $left) as a, count(*) filter (l.source = $right) as b
    from log_rows l
    join conversation_numbers n on n.source = l.source and n.conversation = l.conversation
    where l.source in ($left, $right)
    group by all
),
steps as (
    select conversation_id, step, sum(a) as a, sum(b) as b, sum(least(a, b)) as same
    from texts
    group by all
)
select
    conversation_id,
    sum(same)::bigint as same,
    sum(least(a, b) - same)::bigint as other_text,
    sum(a - least(a, b))::bigint as only_left,
    sum(b - least(a, b))::bigint as only_right,
    min(step) filter (a <> same or b <> same) as first_difference
from steps
group by conversation_id
order by (sum(a) <> sum(same) or sum(b) <> sum(same)) desc, conversation_id
limit $limit offset $offset;
