-- id: AX309
-- name: unreadable-manifest
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- manifest.json is there and cannot be read: it is cut, no JSON, or says two things at once. No build
-- restores the snapshot; the data may be whole, and what it needs can be told from a sibling.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('its manifest.json cannot be read: {}.', case m.manifest_reason
        when 'too-large' then 'it is larger than any that Substrate writes' when 'not-utf8' then 'it is no text'
        when 'not-json' then 'it is no JSON, or is cut' when 'too-deep' then 'it is too deep'
        when 'too-many-values' then 'it has too many values' when 'duplicate-key' then 'a key is there twice'
        when 'lone-surrogate' then 'it is no text' when 'not-an-object' then 'it is no object'
        when 'wrong-type' then 'a value is of another kind than it must be' else m.manifest_reason end) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
where m.manifest = 'unreadable'
    -- The store did not hand it out: that is no fault of the snapshot.
    and m.manifest_reason <> 'unreadable'
    and not exists (
        select * from snapshot_objects o
        where o.source = m.source and o.key = m.snapshot || '/manifest.json' and o.size = 0 and o.is_latest
    )
