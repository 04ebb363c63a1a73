-- id: AX331
-- name: name-reused
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The exports hold an actor of the snapshot's name and of another uid: the actor that wrote it was
-- deleted, and one was made anew under its name. AX gives an actor the conversation's id as its name,
-- so this snapshot remembers an earlier conversation of that id. Until 2026-07 keys name actors by name
-- alone, and the new one's snapshots lie beside the old one's.
select
    m.source,
    null as conversation_id,
    null::bigint as step,
    format('it was written by an actor {} of another uid than the one that is there now.', short(coalesce(m.actor_atespace, 'ax') || '/' || m.actor_name)) as sentence,
    [] as witness,
    m.snapshot,
    null as object,
    coalesce(m.actor_atespace, 'ax') || '/' || m.actor_name as actor
from mapped m
where m.owner_presence = 'reused'
    and not list_has_any(coalesce(m.roles, []), ['actor:latest', 'tag:tagged', 'actor:source'])
