-- id: AX314
-- name: conversation-without-actor
-- severity: warning
-- needs: snapshots
-- empty without: searched
--
-- The exports hold no actor of the conversation's name, though they list its atespace, and others of
-- its harness have one or a snapshot. The next request makes a new actor of that name, which starts from the template's golden snapshot: it knows
-- nothing of what happened before, even if snapshots of the former actor are still in the bucket.
select
    c.source,
    c.conversation_id,
    null::bigint as step,
    format('no actor ax/{} is in {}.', short(c.conversation_id),
        case s.exports when 1 then 'the export' else 'either of the exports' end) as sentence,
    [] as witness,
    r.snapshot,
    null as object,
    'ax/' || c.conversation_id as actor
from conversations c
join relations r using (source, conversation_id)
join searched s on s.kind = 'actor' and (s.everywhere or list_contains(s.spaces, 'ax'))
join harnesses_there h on h.source = c.source and h.harness_id = coalesce(c.harness_id, '')
where c.turns > 0 and c.conversation_id not in (select name from known_actors)
