-- id: AX340
-- name: unknown-object
-- severity: info
-- needs: snapshots
-- empty without: snapshot_objects
--
-- Objects of the bucket that belong to no snapshot: assets that installations keep beside them, marks
-- of folders, and what somebody else put there. Those that are named like a snapshot's objects and lie
-- where no layout puts them may be what is left of a move.
select
    source,
    null as conversation_id,
    null::bigint as step,
    format('{} {} of no snapshot ({}), the first is {}.', count(*), case count(*) when 1 then 'object is' else 'objects are' end,
        "role", short(min(key))) as sentence,
    [] as witness,
    null as snapshot,
    min(key) as object,
    null as actor
from snapshot_objects
where "role" in ('asset', 'unplaced', 'stranger') and is_latest
group by source, "role"
