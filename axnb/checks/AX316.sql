-- id: AX316
-- name: newer-than-record
-- severity: warning
-- needs: snapshots
-- empty without: snapshots
--
-- The bucket holds a complete snapshot of the actor that is newer than the one its record starts from.
-- The upload ended and the record was never moved on, as when the end of a checkpoint was taken for a
-- crash. A resume goes back to the older one, and loses what came between.
select
    m.source,
    case when m.conversation_id in (select conversation_id from conversations) then m.conversation_id end as conversation_id,
    null::bigint as step,
    format('it is newer than the snapshot that {} starts from.', short(c.current_of)) as sentence,
    [] as witness,
    m.snapshot,
    null as object,
    c.current_of as actor
from mapped m
join mapped c on c.is_current and c.actor_name = m.actor_name
    and c.actor_atespace is not distinct from m.actor_atespace and c.actor_uid is not distinct from m.actor_uid
where m.is_complete and not m.is_current and m.key_tag_uid is null
    and case when m.number is not null and c.number is not null then m.number > c.number else m.moment > c.moment end
    and not list_has_any(coalesce(m.roles, []), ['actor:in-progress'])
