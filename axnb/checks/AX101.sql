-- id: AX101
-- name: gap
-- severity: error
-- only with: gaps
--
-- Numbers are missing between two rows of a conversation. AX numbers a conversation's rows one by
-- one and never skips a number, so rows were there and are gone: deleted by hand, or lost with a
-- page. The history is whole up to the row before the gap. Rows that are there and cannot be read
-- are no gap. The reverse does not hold: a failed append leaves no gap either (AX119).
with
doubtful as (
    select source, conversation
    from log_rows
    where step >= 1
    group by source, conversation
    having max(step) - min(step) + 1 <> count(distinct step)
),
ordered as (
    select
        r.source, r.conversation, r.step, r.digest,
        lead(r.step) over following as next_step,
        lead(r.digest) over following as next_digest
    from log_rows r
    semi join doubtful d on d.source = r.source and d.conversation = r.conversation
    where r.step >= 1
    window following as (partition by r.source, r.conversation order by r.step)
)
select
    o.source,
    n.conversation_id,
    o.step + 1 as step,
    case
        when next_step - o.step = 2 then format('step {} is missing; the history is whole up to step {}.', o.step + 1, o.step)
        else format('steps {} to {} are missing; the history is whole up to step {}.', o.step + 1, next_step - 1, o.step)
    end as sentence,
    [
        witness_row(o.step, o.digest),
        witness_row(next_step, next_digest)
    ] as witness
from ordered o
join conversation_numbers n on n.source = o.source and n.conversation = o.conversation
where next_step - o.step > 1
