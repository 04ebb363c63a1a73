-- id: AX307
-- name: damaged-object
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- An object was read to its end, and does not decode: it is cut, a byte of it changed, something
-- stands behind its end, or its digest is not the one that was read earlier. Substrate's own reader
-- accepts some of these and restores the snapshot with wrong content: it keeps no digests. Do not
-- restore it; use another snapshot.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('{} is damaged: {}.', short(coalesce(o.file, 'manifest.json')), case o.reason
        when 'truncated' then 'it ends too early' when 'checksum' then 'its checksum does not fit'
        when 'trailing-bytes' then 'something stands behind its end' when 'magic' then 'it is no zstd'
        when 'extent-outside' then 'it says more than its size' when 'extent-order' then 'its parts overlap'
        when 'changed' then 'its bytes are not those of an earlier load' when 'corrupt' then 'it does not decode'
        else o.reason end) as sentence,
    [witness_row(null, unhex(o.sha256))] as witness,
    m.snapshot,
    o.key as object,
    null as actor
from mapped m join snapshot_objects o on o.source = m.source and o.snapshot = m.snapshot
where o.state = 'damaged' and o.is_latest and o.size > 0
    and (o."role" = 'file' or (o."role" = 'manifest' and o.reason = 'changed'))
    and o.reason not in ('version', 'other-content', 'duplicate', 'size-differs')
