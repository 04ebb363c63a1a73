-- id: AX338
-- name: not-restorable
-- severity: error
-- needs: snapshots
-- empty without: snapshots
--
-- The target that axnb.toml describes ([target]) refuses the snapshot from which a conversation or a
-- template would start, or of which no record tells that it is superseded. The rule that decides and
-- what a person would see are in the sentence; `axnb map --json` has both for every snapshot.
select
    m.source,
    case when m.conversation_id in (select conversation_id from conversations) then m.conversation_id end as conversation_id,
    null::bigint as step,
    format('the target refuses it: {}{}.', m.because, case when m.code <> '' then format(' ({}{})', m.code,
        case when m.reason <> '' then ', ' || m.reason else '' end) else '' end) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
where m.by_target and m.restorable = 'refused'
    and (m.is_current or list_has_any(coalesce(m.roles, []), ['template:golden', 'tag:tagged'])
        or not exists (select * from mapped c where c.is_current and c.actor_name = m.actor_name and c.actor_atespace is not distinct from m.actor_atespace))
