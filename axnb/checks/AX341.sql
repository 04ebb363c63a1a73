-- id: AX341
-- name: unknown-manifest-key
-- severity: info
-- needs: snapshots
-- empty without: mapped
--
-- The manifest has keys that no build writes that axnb knows. They are kept and not used; a newer build
-- of Substrate may mean something by them.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('its manifest has {} that axnb has no meaning for: {}.', case count(*) when 1 then 'a key' else count(*) || ' keys' end, array_to_string(list_sort(list(short(r.detail)))[:4], ', ')) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m join snapshot_remarks r using (source, snapshot)
where r.kind = 'unknown-key'
group by m.source, m.snapshot, m.logged_id
