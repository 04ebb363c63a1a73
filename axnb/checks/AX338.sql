-- id: AX338
-- name: not-restorable
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- The target that axnb.toml describes ([target]) refuses the snapshot from which a conversation or a
-- template would start, or of which no record tells that it is superseded. The rule that decides and
-- what a person would see are in the sentence; `axnb map --json` has both for every snapshot.
select
    m.source,
    m.logged_id as conversation_id,
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
        -- Where no record tells, the newest, or each if nothing tells which that is.
        or (not m.has_current and m.owner_presence not in ('absent', 'reused', 'unstable') and not m.is_being_written
            and coalesce(m.newest_sibling, m.snapshot) = m.snapshot))
