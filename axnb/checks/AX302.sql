-- id: AX302
-- name: unfinished-upload
-- severity: warning
-- needs: snapshots
-- empty without: snapshots
--
-- The objects lie where a record says that a snapshot is being written, and the manifest is not
-- there. While the actor is SUSPENDING that is how it should be. If the actor crashed or was deleted,
-- nobody owns these objects and nothing ever removes them; if it went on, the upload was given up.
select
    m.source,
    case when m.conversation_id in (select conversation_id from conversations) then m.conversation_id end as conversation_id,
    null::bigint as step,
    format('its upload is in progress, says the record of {}, which is {}.', short(n.space || '/' || n.name),
        coalesce(a.state, 'gone')) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    n.space || '/' || n.name as actor
from mapped m
join named n on n.bucket_source = m.source and n.prefix = m.snapshot and n.kind = 'actor' and n."role" = 'in-progress'
left join known_actors a on a.source = n.source and a.atespace = n.space and a.name = n.name
where m.is_torn and coalesce(a.state, 'gone') not in ('SUSPENDING', 'PAUSING')
