-- id: AX145
-- name: owner-lost
-- severity: warning
-- needs: answers
-- only with: unseen_owners
--
-- The asked server does not see the owner that the rows name: its generation keeps the name under
-- another key and drops this one. It takes the conversation for nobody's. A first request that names
-- the harness keeps it with its owner; one that does not goes to the default harness.
select
    a.source,
    a.conversation_id,
    null as step,
    format('{} does not see that {} owns the conversation.', $asked, short(c.harness_id)) as sentence,
    [] as witness
from answers a
join conversations c on c.source = a.source and c.conversation_id = a.conversation_id
where c.harness_id is not null and a.owner = '' and a.has_owners
    and a.empty <> 'wrong-column'
