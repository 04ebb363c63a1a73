-- id: AX321
-- name: runtime-withdrawn
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- The manifest pins a runtime file that the target cannot fetch, or whose bytes are not those of the
-- digest that was pinned ([target.assets] in axnb.toml). Until September builds start a snapshot with
-- what its manifest pins and with nothing else: as long as the file is gone, every snapshot of that
-- runtime is unusable. Put the file back under its address, with the same digest.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    'the target cannot fetch the runtime that its manifest pins.' as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
where m.rule = 'assets' and m.restorable = 'refused'
