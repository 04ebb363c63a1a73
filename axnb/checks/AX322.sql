-- id: AX322
-- name: runtime-not-in-records
-- severity: info
-- needs: snapshots
-- empty without: snapshot_assets
--
-- No SandboxConfig and no template of the exports holds the digest of a runtime file that manifests
-- pin. That is how it looks after an upgrade of the runtime, and no harm as long as the pinned file can
-- still be fetched; whether it can, only [target.assets] in axnb.toml or a look at its address tells.
select
    source,
    null as conversation_id,
    null::bigint as step,
    format('{} a runtime file {} ({}…) that no record has the digest of.',
        case count(distinct snapshot) when 1 then 'a snapshot pins' else count(distinct snapshot) || ' snapshots pin' end,
        short(name), left(sha256, 12)) as sentence,
    [] as witness,
    min(snapshot) as snapshot,
    null as object,
    null as actor
from snapshot_assets
where sha256 is not null
    and exists (select * from record_assets)
    and sha256 not in (select sha256 from record_assets where sha256 is not null)
group by source, name, sha256
