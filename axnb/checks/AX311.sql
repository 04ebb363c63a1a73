-- id: AX311
-- name: identity-split
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- The keys, the manifest and the records do not name the same owner: the objects of one actor lie
-- where those of another belong, or a record points to another actor's snapshot. Restoring it gives
-- one conversation the memory and the files of another. A clone borrows the snapshot of a tag, and a
-- tag's copy keeps the manifest of the actor that it was taken from: neither is told here.
with
told as (
    select source, snapshot, 'its keys' as who, key_atespace as atespace, key_actor_uid as uid, key_actor as name
    from snapshots where key_tag_uid is null
    union all
    select source, snapshot, 'its manifest', manifest_atespace, manifest_actor_uid, manifest_actor from snapshots
    where key_tag_uid is null
    union all
    select source, snapshot, 'a record', nullif(atespace, ''), uid, name from owners_told where how = 'record' and rank <> 3
),
split as (
    select a.source, a.snapshot, a.who, b.who as other,
        case when a.uid <> b.uid then 'uid' when a.atespace <> b.atespace then 'atespace' else 'name' end as what,
        case when a.uid <> b.uid then a.uid when a.atespace <> b.atespace then a.atespace else a.name end as first,
        case when a.uid <> b.uid then b.uid when a.atespace <> b.atespace then b.atespace else b.name end as second
    from told a
    join told b on b.source = a.source and b.snapshot = a.snapshot and a.who < b.who
    where a.uid <> b.uid or a.atespace <> b.atespace or a.name <> b.name
)
select distinct on (m.source, m.snapshot)
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} and {} name two {}: {} and {}.', s.other, s.who,
        case s.what when 'uid' then 'uids of actors' when 'atespace' then 'atespaces' else 'actors' end,
        short(s.second), short(s.first)) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    coalesce(m.actor_atespace, 'ax') || '/' || m.actor_name as actor
from split s
join mapped m using (source, snapshot)
-- The golden actor's name changed its meaning in July.
where not (coalesce(m.is_golden, false) and s.what = 'name')
order by m.source, m.snapshot, s.what desc, s.other, s.who, s.first, s.second
