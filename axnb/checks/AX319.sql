-- id: AX319
-- name: orphan-of-tag
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The objects lie under the uid of a tag that is in none of the exports, though they list tags of its
-- atespace, and no clone borrows them. The tag was deleted and its copy was not, or the export missed it.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('its tag {} is not in {}.', short(m.key_tag_uid), case s.exports when 1 then 'the one export that was given' else 'either export' end) as sentence,
    [] as witness,
    m.snapshot,
    null as object,
    null as actor
from mapped m
join searched s on s.kind = 'tag' and (s.everywhere or list_contains(s.spaces, m.key_atespace))
where m.key_tag_uid is not null and m.key_tag_uid not in (select coalesce(uid, '') from tags)
    and not list_has_any(coalesce(m.roles, []), ['actor:latest', 'actor:source', 'template:golden', 'tag:tagged'])
