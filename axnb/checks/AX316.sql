-- id: AX316
-- name: newer-than-record
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The bucket holds a complete snapshot of the actor that is newer than the one its record starts from.
-- The upload ended and the record was never moved on, as when the end of a checkpoint was taken for a
-- crash. A resume goes back to the older one, and loses what came between.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('it is newer than the snapshot that {} starts from{}.', short(c.current_of),
        case when m.moment_how = 'store' and m.number is null then ', by the store''s clock' else '' end) as sentence,
    [] as witness,
    m.snapshot,
    null as object,
    c.current_of as actor
from mapped m
join mapped c on c.source = m.source and c.is_own_current and c.actor_name = m.actor_name
    and c.actor_atespace is not distinct from m.actor_atespace and coalesce(c.actor_uid = m.actor_uid, true)
where m.is_complete and not m.is_current and m.key_tag_uid is null and not coalesce(m.is_golden, false)
    and case when m.number is not null and c.number is not null then m.number > c.number else m.moment > c.moment end
    -- That is told of the record that calls it so (AX302).
    and not list_contains(coalesce(m.roles, []), 'actor:in-progress')
