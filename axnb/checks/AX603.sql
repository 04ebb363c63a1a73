-- id: AX603
-- name: secret-in-configuration
-- severity: warning
-- empty without: secrets
--
-- A secret is in the configuration that a turn was begun with. It is in the log for good: AX deletes no
-- row, and each backup and each export has it, too. Rotate it, and give the harness the name of a
-- secret in place of its value. The same digest elsewhere is the same secret.
with
placed as (
    select s.source, s.conversation_id, s.step, s."row", s.kind, s.digest, s.at_offset,
        coalesce(e.digest, r.digest) as row_digest
    from secrets s
    left join event_rows e on e.source = s.source and e."row" = s."row"
    left join rejects r on r.source = s.source and r."row" = s."row"
    where s.place = 'harness-config' and not s.is_partial
),
counted as (
    select source, conversation_id, digest, count(*) as places, min(kind) as kind,
        arg_min((step, at_offset, row_digest), ("row", at_offset)) as first
    from placed
    group by source, conversation_id, digest
)
select
    source,
    conversation_id,
    first[1] as step,
    format('a secret ({}) is in a configuration, at {} {}, first at offset {} of it (digest {}).',
        kind, places, case when places = 1 then 'place' else 'places' end, first[2], left(digest, 12)) as sentence,
    [witness_row(first[1], first[3])] as witness
from counted
