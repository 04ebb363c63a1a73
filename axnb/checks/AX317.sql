-- id: AX317
-- name: superseded
-- severity: info
-- needs: snapshots
-- empty without: mapped
--
-- Snapshots that no record starts from and that are older than the one it does start from. Until
-- 2026-09-02 Substrate never removed a snapshot, and those of before that day it never will. They are
-- whole, take up room, and hold whatever secrets the actor had.
with
beside as (
    select m.source, m.snapshot, m.bytes, c.current_of, m.moment, coalesce(m.moment < c.moment, false) as is_older
    from mapped m
    join mapped c on c.source = m.source and c.is_own_current and c.actor_name = m.actor_name and c.snapshot <> m.snapshot
        and c.actor_atespace is not distinct from m.actor_atespace and coalesce(c.actor_uid = m.actor_uid, true)
    where m.is_complete and not m.is_current and m.key_tag_uid is null and not coalesce(m.is_golden, false)
        and not coalesce(case when m.number is not null and c.number is not null then m.number > c.number else m.moment > c.moment end, false)
        and not list_has_any(coalesce(m.roles, []), ['tag:tagged', 'actor:source', 'actor:in-progress'])
)
select
    source,
    null as conversation_id,
    null::bigint as step,
    format('{} has {} that no record names, {} bytes{}{}.', short(current_of),
        case count(*) when 1 then 'a snapshot' else count(*) || ' snapshots' end, sum(bytes),
        case when count(moment) = count(*) then format(', the oldest of {}', strftime(min(moment), '%Y-%m-%d')) else '' end,
        case when bool_and(is_older) then '' else '; no time tells whether all are older' end) as sentence,
    [] as witness,
    min(snapshot) as snapshot,
    null as object,
    current_of as actor
from beside
group by source, current_of
