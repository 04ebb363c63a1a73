-- id: AX332
-- name: unstable-listing
-- severity: warning
-- needs: snapshots
--
-- Two listings of the bucket, a moment apart, are not the same: something writes to it, or the store
-- does not tell all it has. Nothing is called an orphan or missing on the word of such a listing alone.
-- Load it again when nothing writes to it.
select
    s.source,
    null as conversation_id,
    null::bigint as step,
    'two listings of the bucket differ.' as sentence,
    [] as witness,
    null as snapshot,
    null as object,
    null as actor
from sources s
where s.kind = 'bucket' and s.source not in (select source from stable_buckets)
