-- id: AX604
-- name: secret-in-payload
-- severity: warning
-- empty without: secrets
--
-- A secret is in a payload: somebody pasted it, a tool returned it, or a provider's error told it. It
-- is in the log for good: AX deletes no row, and each backup and each export has it, too. It was also
-- sent to the model. Rotate it. The same digest elsewhere is the same secret.
select
    source,
    conversation_id,
    first[1] as step,
    format('a secret ({}) is in a payload, at {} {}, first at offset {} of the row (digest {}).',
        kind, places, case when places = 1 then 'place' else 'places' end, first[2], left(digest, 12)) as sentence,
    [witness_row(first[1], first[3])] as witness
from log_secrets
where place = 'payload'
