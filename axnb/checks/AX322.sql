-- id: AX322
-- name: runtime-not-in-records
-- severity: info
-- needs: snapshots
-- empty without: snapshots, record_assets
--
-- No SandboxConfig and no template of the exports holds the digest of a runtime file that the manifest
-- pins. That is how it looks after an upgrade of the runtime, and no harm as long as the pinned file can
-- still be fetched; whether it can, only [target.assets] in axnb.toml or a look at its address tells.
select
    m.source,
    case when m.conversation_id in (select conversation_id from conversations) then m.conversation_id end as conversation_id,
    null::bigint as step,
    format('no record holds the digest of its runtime file {}.', short(a.name)) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m join snapshot_assets a using (source, snapshot)
where a.sha256 is not null and a.sha256 not in (select coalesce(sha256, '') from record_assets)
