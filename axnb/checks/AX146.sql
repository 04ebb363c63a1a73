-- id: AX146
-- name: owner-refused
-- severity: error
-- needs: answers
-- only with: refused
--
-- The asked server refuses every request on the conversation: its owner is not registered there, or
-- the server takes the request for one of another harness. Nothing is lost and nothing goes on until
-- the harness is registered, or the request names it.
select
    a.source,
    a.conversation_id,
    null as step,
    case a.empty
        when 'harness-missing' then format('{} refuses every request: the harness {} is not registered.', $asked, short(coalesce(nullif(a.owner, ''), '(the default)')))
        else format('{} refuses every request that does not name the harness {}.', $asked, short(coalesce(nullif(a.owner, ''), '(none)')))
    end as sentence,
    [] as witness
from answers a
where a.empty in ('harness-missing', 'harness-changed')
