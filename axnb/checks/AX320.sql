-- id: AX320
-- name: orphan-of-template
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The snapshot is a template's golden one, and the exports hold neither a template that names it nor
-- one of the uid that it was made for. The template was deleted; its golden snapshot stayed, with the
-- secrets of its environment.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('it is golden, and no template of the exports is its own ({}).', short(coalesce(m.template, m.actor_name))) as sentence,
    [] as witness,
    m.snapshot,
    null as object,
    null as actor
from mapped m join searched s on s.kind = 'template'
where m.is_golden
    and not list_has_any(coalesce(m.roles, []), ['template:golden', 'actor:latest'])
    and m.snapshot not in (select prefix from named where kind = 'tag' and space <> 'ate-golden' and prefix is not null)
    and m.actor_name not in (select coalesce(uid, '') from templates)
    and m.actor_name not in (select coalesce(golden_actor, '') from templates)
    and m.template not in (select placed(space, name) from templates)
    and (s.everywhere or list_contains(s.spaces, split_part(m.template, '/', 1)))
