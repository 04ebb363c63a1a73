-- id: AX312
-- name: snapshot-outlives-log
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The snapshot belongs to a conversation of which the log holds no row. AX's deletion removes only
-- rows: the actor, its snapshots and what is in them stay. Or the log was restored from before the
-- conversation began, or is another one. If the id is used again, AX goes on from this memory with an
-- empty log.
select
    m.source,
    null as conversation_id,
    null::bigint as step,
    format('it belongs to {}, of which the log holds nothing.', short(m.conversation_id)) as sentence,
    [] as witness,
    m.snapshot,
    null as object,
    coalesce(m.actor_atespace, 'ax') || '/' || m.actor_name as actor
from mapped m
where m.conversation_id is not null and m.is_complete
    and (m.is_own_current or (m.is_newest and not m.has_current) or m.siblings = 1)
    -- Other programs have actors, too; up to B1 only records tell them apart, and those of templates
    -- which are golden.
    and coalesce(m.actor_atespace, split_part(m.template, '/', 1)) = 'ax'
    and (m.layout <> 'B0|B1' or exists (select * from searched where kind = 'template'))
    and exists (select * from sources where kind = 'eventlog' and scope is null)
    and not exists (select * from sources where kind = 'eventlog' and scope is not null)
    and m.conversation_id not in (select conversation_id from conversations)
