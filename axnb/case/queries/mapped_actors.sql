-- Every actor of the exports with the snapshot that it starts from, and what is in the bucket.
select
    a.*,
    n.snapshot as latest,
    n.snapshot_name as latest_name,
    n.uri_reason,
    n.prefix as found,
    m.restorable,
    m.is_complete,
    coalesce(o.snapshots, 0) as snapshots,
    o.newest_complete
from actors a
left join named n on n.source = a.source and n.kind = 'actor' and n."role" = 'latest'
    and n.space = a.atespace and n.name = a.name and n.uid is not distinct from a.uid
left join mapped m on m.source = n.bucket_source and m.snapshot = n.prefix
left join (
    select coalesce(actor_atespace, 'ax') as space, actor_name, count(*) as snapshots,
        case when count(moment) filter (is_complete) = count(*) filter (is_complete)
            then arg_max(snapshot, moment) filter (is_complete) end as newest_complete
    from mapped
    where actor_name is not null and key_tag_uid is null and not coalesce(is_golden, false)
    group by all
) o on o.actor_name = a.name and o.space = coalesce(nullif(a.atespace, ''), 'ax')
order by a.source, a.atespace, a.name, a.uid nulls first;
