-- id: AX601
-- name: secret-in-snapshot
-- severity: warning
-- empty without: secrets
--
-- A secret is in a snapshot: in the environment of a container, in memory, or in a file. Whoever can
-- read the bucket has it. Snapshots are not encrypted, one made of another inherits it, and to rotate
-- it in its source changes none of them. Rotate it; then delete the snapshots that hold it, or make
-- the golden one anew. The same digest elsewhere is the same secret; its value is nowhere in a case.
with
placed as (
    select source, coalesce(snapshot, object, '') as held_by, snapshot, coalesce(object, '') as object, kind,
        digest, coalesce(at_offset, 0) as place_offset,
        case place when 'oci-env' then 'an environment' when 'memory' then 'memory'
            when 'tar-member' then 'a file of a tar' else 'a file' end as place
    from secrets
    where place in ('oci-env', 'memory', 'tar-member', 'file') and not is_partial
),
counted as (
    select source, held_by, digest, any_value(snapshot) as snapshot, count(*) as places,
        min(kind) as kind,
        arg_min(place, (place, object, place_offset)) as place,
        nullif(arg_min(object, (place, object, place_offset)), '') as object,
        arg_min(place_offset, (place, object, place_offset)) as place_offset
    from placed
    group by all
),
shared as (
    select digest, count(distinct (source, held_by)) as holders
    from placed
    group by digest
)
select
    c.source,
    null::varchar as conversation_id,
    null::bigint as step,
    format('a secret ({}) is in it at {} {}, first in {}{}; {} {} it (digest {}).',
        c.kind, c.places, case when c.places = 1 then 'place' else 'places' end, c.place,
        case when c.place = 'an environment' then '' else format(' at offset {}', c.place_offset) end,
        s.holders, case when s.holders = 1 then 'snapshot holds' else 'snapshots hold' end,
        left(c.digest, 12)) as sentence,
    []::struct(step bigint, digest varchar)[] as witness,
    c.snapshot,
    c.object
from counted c
join shared s on s.digest = c.digest
