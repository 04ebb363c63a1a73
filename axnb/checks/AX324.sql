-- id: AX324
-- name: golden-missing
-- severity: error
-- needs: snapshots
-- empty without: record_snapshots
--
-- The template is ready, and the golden snapshot that its record names is not in the bucket. Every new
-- actor of the template, and every data snapshot that is restored onto the golden one, fails with
-- DataLoss. Make the golden snapshot anew.
select
    n.source,
    null as conversation_id,
    null::bigint as step,
    format('template {} names a golden snapshot that is not in the bucket.', short(n.space || '/' || n.name)) as sentence,
    [] as witness,
    n.snapshot,
    null as object,
    null as actor
from named n
where n.kind = 'template' and n."role" = 'golden' and n.prefix is null
    and exists (
        select * from bucket_scopes b
        where n.snapshot is null or ((b.bucket is null or b.bucket = n.bucket)
            and (b.prefix = '' or starts_with(n.snapshot, b.prefix || '/')))
    )
    -- By name alone it can only be looked for among names.
    and (n.snapshot is not null or exists (select * from snapshots where layout in ('B2', 'B3')))
