-- id: AX602
-- name: secret-in-manifest
-- severity: warning
-- empty without: secrets
--
-- A secret is in the manifest of a snapshot, most often in the address of a file that it pins: a
-- password before the host, or a signature in its query. A manifest is copied and shown more freely
-- than what it describes. Name the file by an address without a secret, and rotate this one.
with
placed as (
    select source, coalesce(snapshot, object, '') as held_by, snapshot, coalesce(object, '') as object, kind,
        digest, place = 'asset-url' as is_url, coalesce(at_offset, 0) as place_offset
    from secrets
    where place in ('asset-url', 'manifest') and not is_partial
)
select
    source,
    null::varchar as conversation_id,
    null::bigint as step,
    format('a secret ({}) is in its manifest at {} {}, first in {} (digest {}).',
        min(kind), count(*), case when count(*) = 1 then 'place' else 'places' end,
        case when bool_or(is_url) then 'the address of a file'
            else format('its text at offset {}', min(place_offset)) end,
        left(digest, 12)) as sentence,
    []::struct(step bigint, digest varchar)[] as witness,
    any_value(snapshot) as snapshot,
    nullif(min(object), '') as object
from placed
group by source, held_by, digest
