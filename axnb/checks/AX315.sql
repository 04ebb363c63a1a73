-- id: AX315
-- name: dangling-current
-- severity: error
-- needs: snapshots
--
-- A record points to a snapshot of which the bucket holds no object: it was promoted and never
-- written, or deleted; or its URI is none that Substrate reads. A resume fails with DataLoss and, since
-- July, leaves the actor CRASHED. Where a complete snapshot of the same actor is there, it is named:
-- whether to go back to it, and to lose what came after it, a person decides.
select
    n.source,
    case when n.kind = 'actor' and n.name in (select conversation_id from conversations) then n.name end as conversation_id,
    null::bigint as step,
    format('{} {}{} starts from {}{}.', n.kind, short(placed(n.space, n.name)),
        case when a.state is not null then format(' ({})', short(a.state)) else '' end,
        case when n.bucket is null and n.uri_reason is not null then 'a URI that Substrate does not read'
            else 'a snapshot that is not in the bucket' end,
        case when g.snapshot is not null then format('; the newest complete one there is {}', short(g.snapshot))
            when g.complete = 1 then '; one complete one is there'
            when g.complete > 0 then format('; {} complete ones are there', g.complete) else '' end) as sentence,
    [] as witness,
    n.snapshot,
    null as object,
    placed(n.space, n.name) as actor
from named n
left join known_actors a on n.kind = 'actor' and a.source = n.source and a.atespace = n.space and a.name = n.name
    and a.uid is not distinct from n.uid
left join (
    select actor_name, coalesce(actor_atespace, 'ax') as atespace, count(*) as complete,
        case when count(moment) = count(*) then arg_max(snapshot, moment) end as snapshot
    from mapped
    where is_complete and key_tag_uid is null and not coalesce(is_golden, false)
    group by all
) g on n.kind = 'actor' and g.actor_name = n.name and g.atespace = coalesce(nullif(n.space, ''), 'ax')
where n.prefix is null and n."role" in ('latest', 'tagged') and n.space <> 'ate-golden'
    and case
        -- Only of the bucket that was read, and of what of it was listed.
        when n.snapshot is not null then exists (
            select * from looked_through b
            where b.bucket = n.bucket and (b.prefix = '' or starts_with(n.snapshot, b.prefix || '/'))
        )
        when n.uri_reason is not null then exists (select * from bucket_scopes)
        -- A name alone is looked for where other names of the same records were found.
        else exists (select * from named o where o.source = n.source and o.how = 'name')
            and not exists (select * from bucket_scopes b where b.source not in (select source from stable_buckets))
    end
    -- A template's golden one is AX324.
    and coalesce(n.snapshot, '') not in (select snapshot from named where kind = 'template' and snapshot is not null)
    -- Deleted, and not lost (AX304).
    and coalesce(n.snapshot, '') not in (select snapshot from recoverable)
