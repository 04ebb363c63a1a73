-- id: AX147
-- name: owner-rebound
-- severity: error
-- needs: answers
--
-- The next request binds the conversation to another harness than the one that owns it: the asked
-- server does not see the owner and takes its default. From then on the true owner is refused. Name
-- the owner in the first request, and the conversation stays where it was.
select
    a.source,
    a.conversation_id,
    null as step,
    format('the next request under {} binds the conversation to {}, and {} owns it.', $asked,
        short(coalesce(a.harness, 'its default harness')), short(c.harness_id)) as sentence,
    [] as witness
from answers a
join conversations c on c.source = a.source and c.conversation_id = a.conversation_id
where c.harness_id is not null and a.owner <> c.harness_id and a.has_owners
    and coalesce(a.harness, '') <> c.harness_id
    and a.input in ('new-turn', 'resumes-then-new-turn', 'ignores-pending', 'depends')
