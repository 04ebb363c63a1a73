-- id: AX302
-- name: unfinished-upload
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The objects lie where a record says that a snapshot is being written, and its actor is not
-- suspending: while it is, that is how it should be. If the actor crashed or was deleted, nobody owns
-- these objects and nothing ever removes them; if it went on, the upload was given up. The upload may
-- have ended all the same: then it is the actor's newest state, which no record starts from.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} is {}, and its record says that this snapshot is still being written{}.', short(placed(n.space, n.name)),
        short(a.state), case when m.is_complete then ', though it is complete' else '' end) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    placed(n.space, n.name) as actor
from mapped m
join named n on n.bucket_source = m.source and n.prefix = m.snapshot and n.kind = 'actor' and n."role" = 'in-progress'
join known_actors a on a.source = n.source and a.atespace = n.space and a.name = n.name and a.uid is not distinct from n.uid
where not m.is_being_written
