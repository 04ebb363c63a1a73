-- id: AX324
-- name: golden-missing
-- severity: error
-- needs: snapshots
--
-- The golden snapshot of a template is not in the bucket: the one that its record names, or that a tag
-- of the template's uid holds (since September). Every new actor of the template, and every data
-- snapshot that is restored onto the golden one, fails with DataLoss. Make the golden snapshot anew.
select distinct on (n.source, n.owner)
    n.source,
    null as conversation_id,
    null::bigint as step,
    format('the golden snapshot of {} is not in the bucket.', short(n.owner)) as sentence,
    [] as witness,
    n.snapshot,
    null as object,
    null as actor
from (
    select n.source, n.snapshot, n.bucket, n.snapshot_name, n.uid,
        case when n.kind = 'template' then 'template ' || placed(n.space, n.name)
            when t.name is not null then 'template ' || placed(t.space, t.name)
            else 'tag ' || placed(n.space, n.name) end as owner
    from named n
    left join templates t on n.kind = 'tag' and t.source = n.source and t.uid = n.name
    where n.prefix is null
        and (n.kind = 'template' and n."role" = 'golden' or n.kind = 'tag' and n.space = 'ate-golden')
) n
where case
        -- Only of the bucket that was read, and of what of it was listed.
        when n.snapshot is not null then exists (
            select * from looked_through b
            where b.bucket = n.bucket and (b.prefix = '' or starts_with(n.snapshot, b.prefix || '/'))
        )
        -- A name alone is looked for where other names of the same records were found. That of a tag
        -- is the template's uid, and is no snapshot's.
        else n.snapshot_name <> coalesce(n.uid, '') and exists (select * from named o where o.source = n.source and o.how = 'name')
            and not exists (select * from bucket_scopes b where b.source not in (select source from stable_buckets))
    end
    -- Deleted, and not lost (AX304).
    and coalesce(n.snapshot, '') not in (select snapshot from recoverable)
order by n.source, n.owner, n.snapshot
