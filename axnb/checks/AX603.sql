-- id: AX603
-- name: secret-in-configuration
-- severity: warning
-- empty without: secrets
--
-- A secret is in the configuration that a turn was begun with. It is in the log for good: AX deletes no
-- row, and each backup and each export has it, too. Rotate it, and give the harness the name of a
-- secret in place of its value. The same digest elsewhere is the same secret.
select
    source,
    conversation_id,
    first[1] as step,
    format('a secret ({}) is in a configuration, at {} {}, first at offset {} of it (digest {}).',
        kind, places, case when places = 1 then 'place' else 'places' end, first[2], left(digest, 12)) as sentence,
    [witness_row(first[1], first[3])] as witness
from log_secrets
where place = 'harness-config'
