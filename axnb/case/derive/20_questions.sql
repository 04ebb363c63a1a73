-- Questions to a person, and the last word on each. Parameter: $source.
insert into questions
with
confirmations as (
    select p.conversation_id, p.step, p.position, p."row", p.part, p.call_id, p.decision, t.turn
    from parts p
    join placed t on t."row" = p."row"
    where p.source = $source and p.kind = 'confirmation'
),
asked as (
    select * from confirmations where decision = 'asked'
),
answers as (
    select * from confirmations where decision <> 'asked'
),
-- An answer is one to the last question of its id before it: ids begin again in each turn.
last_words as (
    select
        q."row",
        q.part,
        max_by(
            struct_pack(decision := a.decision, turn := a.turn, "row" := a."row"),
            struct_pack(p := a.position, r := a."row", n := a.part)
        ) as answer
    from answers a
    asof join asked q on q.conversation_id = a.conversation_id and q.call_id = a.call_id
        and a.position > q.position
    group by q."row", q.part
)
select
    $source,
    q.conversation_id,
    q.turn,
    q.step,
    q.position,
    q.call_id,
    coalesce(max(w.answer).decision, 'awaiting-decision'),
    max(w.answer).turn,
    max(w.answer)."row"
from asked q
left join last_words w on w."row" = q."row" and w.part = q.part
group by q.conversation_id, q.turn, q.step, q.position, q.call_id;
