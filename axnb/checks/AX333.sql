-- id: AX333
-- name: leftover-upload
-- severity: warning
-- needs: snapshots
-- empty without: snapshot_objects
--
-- Parts of an upload that did not end are still in the bucket: pieces that Substrate puts together and
-- removes (since 2026-08-21), or a multipart upload that was neither completed nor aborted. They take up
-- room, and may hold secrets; a listing of objects does not show the latter. Those of a snapshot that
-- an actor is just writing are not told.
select
    o.source,
    null as conversation_id,
    null::bigint as step,
    case when count(*) filter (o."role" = 'upload') > 0
        then format('{} begun and never ended.', case count(*) when 1 then 'an upload was' else count(*) || ' uploads were' end)
        else format('{} of an upload that did not end.', case count(*) when 1 then 'a part is left' else count(*) || ' parts are left' end)
    end as sentence,
    [] as witness,
    o.snapshot,
    min(o.key) as object,
    null as actor
from snapshot_objects o
where o."role" in ('part', 'upload')
    -- Not of what an actor is writing.
    and coalesce(o.snapshot, '') not in (select snapshot from being_written where snapshot is not null)
    and coalesce(lower(translate(regexp_extract(o.snapshot, '[^/]+$'), ':+', '--')), '') not in (
        select name from being_written where snapshot is null and name is not null
    )
group by o.source, o.snapshot, regexp_replace(o.key, '\.part-[0-9a-f]{16}-[0-9]+$', ''), o."role"
