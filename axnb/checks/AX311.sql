-- id: AX311
-- name: identity-split
-- severity: error
-- needs: snapshots
-- empty without: snapshots
--
-- The keys, the manifest and the records do not name the same owner: the objects of one actor lie
-- where those of another belong, or a record points to another actor's snapshot. Restoring it gives
-- one conversation the memory and the files of another.
with
told as (
    select source, snapshot, 'its keys' as who, key_atespace as atespace, key_actor_uid as uid, key_actor as name
    from snapshots where key_tag_uid is null
    union all
    select source, snapshot, 'its manifest', manifest_atespace, manifest_actor_uid, manifest_actor from snapshots
    where key_tag_uid is null
    union all
    select source, snapshot, 'a record', nullif(atespace, ''), uid, name from owners_told where how = 'record' and rank < 3
),
split as (
    select a.source, a.snapshot, a.who, b.who as other,
        case
            when a.uid <> b.uid then 'actors of two uids'
            when a.atespace <> b.atespace then 'two atespaces'
            else 'two actors'
        end as what
    from told a
    join told b on b.source = a.source and b.snapshot = a.snapshot and a.who < b.who
    where a.uid <> b.uid or a.atespace <> b.atespace or a.name <> b.name
)
select distinct on (m.source, m.snapshot)
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} and {} name {}.', s.other, s.who, s.what) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    coalesce(m.actor_atespace, 'ax') || '/' || m.actor_name as actor
from split s
join mapped m using (source, snapshot)
where not (coalesce(m.is_golden, false) and s.what = 'two actors')
order by m.source, m.snapshot, s.what desc
