-- id: AX343
-- name: runtime-of-two-digests
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The manifest pins a runtime file by an address at which records have another digest. What lies there
-- fits one of the two at most. Until September builds compare and refuse: either the file was replaced
-- under its address, and this snapshot cannot be started any more, or somebody changed the manifest.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('it pins {} by a digest that is not the one that records have for the same address.', short(a.name)) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
join (
    select source, snapshot, min(name) as name
    from snapshot_assets a
    where sha256 is not null
        and url in (select url from record_assets where sha256 is not null)
        and (url, sha256) not in (select (url, sha256) from record_assets where sha256 is not null)
    group by all
) a using (source, snapshot)
