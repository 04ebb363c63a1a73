-- id: AX210
-- name: refused-actor-name
-- severity: info
--
-- Substrate names an actor after its conversation and takes only DNS labels: small letters, digits
-- and hyphens, 63 at most, with a letter or a digit at both ends. AX takes any id for its log, so
-- this conversation can go on with a harness of AX's own, and never as an actor.
select
    source,
    conversation_id,
    null as step,
    'Substrate refuses the conversation''s id as the name of an actor.' as sentence,
    [] as witness
from conversations
where not regexp_full_match(conversation_id, '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?')
