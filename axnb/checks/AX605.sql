-- id: AX605
-- name: masked-secret
-- severity: info
-- empty without: secrets
--
-- A secret that was masked in the middle: its beginning and its end are there, as providers put them
-- into errors. That is not enough to use it. It tells which key was in use, and it makes guessing a
-- short one easier. Values that are masked whole, and placeholders, are no finding.
with
placed as (
    select s.source, s.conversation_id, s.step, s.snapshot, s.object, s.kind, s.digest, s."row",
        coalesce(s.at_offset, 0) as place_offset, coalesce(e.digest, r.digest) as row_digest
    from secrets s
    left join event_rows e on e.source = s.source and e."row" = s."row"
    left join rejects r on r.source = s.source and r."row" = s."row"
    where s.is_partial
),
counted as (
    select source, conversation_id, snapshot, digest, count(*) as places, min(kind) as kind,
        min(object) as object, max("row") is not null as is_row,
        arg_min((step, place_offset, row_digest), (coalesce("row", 0), coalesce(object, ''), place_offset)) as first
    from placed
    group by source, conversation_id, snapshot, digest
)
select
    source,
    conversation_id,
    first[1] as step,
    format('part of a secret ({}) is there, masked in the middle, at {} {}, first at offset {} (digest {}).',
        kind, places, case when places = 1 then 'place' else 'places' end, first[2], left(digest, 12)) as sentence,
    case when is_row then [witness_row(first[1], first[3])] else [] end as witness,
    snapshot,
    object
from counted
