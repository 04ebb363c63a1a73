-- id: AX313
-- name: log-without-snapshot
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The log holds turns of the conversation, and the bucket no snapshot of its actor, while others of
-- the same harness have one. Every turn on Substrate ends with a suspension, which writes one: it was
-- deleted, never written (AX only warns of a suspension that fails), or lies in another bucket. The
-- next request starts from the template's golden snapshot and knows nothing of the conversation.
select
    c.source,
    c.conversation_id,
    null::bigint as step,
    'the bucket holds no snapshot of it.' as sentence,
    [] as witness,
    null as snapshot,
    null as object,
    null as actor
from conversations c
join relations r using (source, conversation_id)
join (
    select distinct c.source, coalesce(c.harness_id, '') as harness_id
    from conversations c join mapped m on m.conversation_id = c.conversation_id
) h on h.source = c.source and h.harness_id = coalesce(c.harness_id, '')
where r.relation = 'none' and c.turns > 0
    and not exists (select * from mapped m where m.source not in (select source from stable_buckets))
    and c.conversation_id not in (select conversation_id from mapped where conversation_id is not null)
    -- A pause snapshot lies on a node. A first turn that is running has none yet.
    and c.conversation_id not in (
        select name from known_actors where state in ('PAUSED', 'RUNNING', 'RESUMING', 'PAUSING', 'SUSPENDING')
    )
    -- A record that points elsewhere, or to nothing, is AX315.
    and c.conversation_id not in (select name from named where kind = 'actor' and "role" = 'latest' and prefix is null)
