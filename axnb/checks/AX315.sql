-- id: AX315
-- name: dangling-current
-- severity: error
-- needs: snapshots
-- empty without: record_snapshots
--
-- A record points to a snapshot of which the bucket holds no object: it was promoted and never
-- written, or deleted. A resume fails with DataLoss and, since July, leaves the actor CRASHED. Where a
-- complete snapshot of the same actor is there, it is named: whether to go back to it, and to lose what
-- came after it, a person decides.
select
    n.source,
    case when n.name in (select conversation_id from conversations) then n.name end as conversation_id,
    null::bigint as step,
    format('{} {} starts from a snapshot that is not in the bucket{}.', n.kind, short(n.space || '/' || n.name),
        case when g.snapshot is not null then format('; the newest complete one there is {}', short(g.snapshot))
            when g.complete > 0 then format('; {} complete ones are there', g.complete) else '' end) as sentence,
    [] as witness,
    n.snapshot,
    null as object,
    n.space || '/' || n.name as actor
from named n
left join (
    select actor_name, coalesce(actor_atespace, 'ax') as atespace, count(*) as complete,
        case when count(moment) = count(*) then arg_max(snapshot, moment) end as snapshot
    from mapped where is_complete group by all
) g on g.actor_name = n.name and g.atespace = n.space
where n.prefix is null and n."role" in ('latest', 'tagged') and n.snapshot is not null
    -- Only of the bucket that was read, and of what of it was listed.
    and exists (
        select * from bucket_scopes b
        where (b.bucket is null or b.bucket = n.bucket)
            and (b.prefix = '' or starts_with(n.snapshot, b.prefix || '/'))
    )
