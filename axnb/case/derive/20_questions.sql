-- Questions to a person, and the last word on each. Parameter: $source.
insert into questions
with
confirmations as (
    select conversation_id, step, position, "row", part, call_id, decision
    from parts
    where source = $source and kind = 'confirmation'
),
asked as (
    select p.*, t.turn,
        row_number() over (partition by p.conversation_id, p.call_id order by p.position, p."row", p.part) as nth,
        lead(p.position) over (partition by p.conversation_id, p.call_id order by p.position, p."row", p.part) as next_asked
    from confirmations p
    join placed t on t."row" = p."row"
    where p.decision = 'asked'
),
answers as (
    select conversation_id, call_id, position, decision
    from confirmations where decision <> 'asked'
)
select
    $source,
    q.conversation_id,
    q.turn,
    q.step,
    q.position,
    q.call_id,
    coalesce(max_by(a.decision, a.position), 'awaiting-decision')
from asked q
left join answers a on a.conversation_id = q.conversation_id and a.call_id = q.call_id
    and a.position > q.position and a.position < coalesce(q.next_asked, 9223372036854775807)
group by q.conversation_id, q.turn, q.step, q.position, q.call_id;
