-- id: AX107
-- name: number-reused
-- severity: error
-- needs: witnesses
-- empty without: copies or other_texts
--
-- A number was handed out twice: two logs hold the same conversation, agree on its first part and
-- then differ, or a client was sent a text under a number at which the log holds none like it. A
-- server went on from an older backup and gave the lost numbers to other outputs. A client that
-- reads on from the last number it knows never sees them, and effects of the lost part may be done
-- again. Rows are compared by what they say and not by their spelling. The witness is the first row
-- that differs.
with
differing as (
    select p.source, p.conversation_id, p.first_different as step,
        format('it begins as in {}, where step {} is another one.', p.other, p.first_different) as sentence
    from copies p
    join asked_answers a on a.source = p.source and a.conversation_id = p.conversation_id
    where p.is_related and p.first_different is not null
    union all
    select w.source, w.conversation_id, w.step,
        format('{} was sent another text as step {}.', w.client, w.step)
    from other_texts w
),
first as (
    select distinct on (source, conversation_id) *
    from differing
    order by source, conversation_id, step, sentence
)
select distinct on (f.source, f.conversation_id)
    f.source,
    f.conversation_id,
    f.step,
    f.sentence,
    [witness_row(f.step, e.digest)] as witness
from first f
left join events e on e.source = f.source and e.conversation_id = f.conversation_id and e.step = f.step
order by f.source, f.conversation_id, e."row" desc
