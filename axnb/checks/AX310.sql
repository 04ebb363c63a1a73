-- id: AX310
-- name: unsafe-file-name
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- The manifest lists a name that is none of a file in the snapshot's folder: it is absolute, goes up
-- by `..`, holds a NUL or a backslash, or is there twice. Builds of some months joined whatever was
-- listed to a folder of the node. Do not restore it; ask who wrote it.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('its manifest lists a name that is no file of it: {}.', case r.reason
        when 'empty' then 'it is empty' when 'too-long' then 'it is too long' when 'control-character' then 'it holds a control character'
        when 'backslash' then 'it holds a backslash' when 'absolute' then 'it is absolute' when 'leaves-folder' then 'it goes up'
        when 'not-clean' then 'a part of it is empty or a dot' when 'nested' then 'it is nested' when 'manifest' then 'it is the manifest itself'
        when 'duplicate' then 'it is there twice' when 'not-listed' then 'it is data, and not one of the files' else r.reason end) as sentence,
    [] as witness,
    m.snapshot,
    r.object as object,
    null as actor
from mapped m join (
    select distinct source, snapshot, object, split_part(detail, ':', 1) as reason
    from snapshot_remarks where kind = 'refused-name'
) r using (source, snapshot)
