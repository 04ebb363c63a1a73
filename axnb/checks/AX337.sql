-- id: AX337
-- name: contradictory-manifest
-- severity: warning
-- needs: snapshots
-- empty without: mapped
--
-- The manifest contradicts itself or its time: it says data and lists memory or the other way round, or
-- lacks what builds of its time write. Which of the two is true it does not tell, so nobody should rely
-- on either.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('its manifest is not consistent: {}.', case r.kind
        when 'scope-and-files' then 'its scope and its files contradict each other'
        when 'no-rootfs' then 'a full snapshot of a micro-VM has no rootfs-upper.tar'
        when 'unknown-scope' then 'its scope is none that is known'
        when 'unknown-class' then 'its sandbox class is none that is known'
        when 'case-of-key' then 'a key differs from a known one by its case alone'
        when 'asset-without-digest' then 'a runtime file has no digest'
        when 'no-pause-image' then 'it names no pause image'
        when 'identity-in-b1' then 'it names an actor by uid, as no build with such keys did'
        when 'newer-key' then 'it has a key that builds of its time did not write'
        when 'older-key' then 'it has a key that builds of its time did not write any more'
        else r.kind end) as sentence,
    [] as witness,
    m.snapshot,
    r.object as object,
    null as actor
from mapped m
join (
    select source, snapshot, object, kind from snapshot_remarks
    union
    select source, snapshot, snapshot || '/manifest.json', unnest(doubts) from snapshots
) r using (source, snapshot)
where r.kind in ('scope-and-files', 'unknown-scope', 'unknown-class', 'case-of-key', 'asset-without-digest', 'newer-key', 'older-key', 'identity-in-b1')
    -- Builds of early August wrote neither; a layout of theirs does not tell on which day. A record's
    -- time does; a bucket's may be that of a copy, and a node's clock may be wrong.
    or (r.kind = 'no-pause-image' and (m.layout = 'B4|B5' or (m.moment_how = 'record' and m.moment >= timestamp '2026-08-12')))
    or (r.kind = 'no-rootfs' and (m.layout = 'B4|B5' or (m.moment_how = 'record' and m.moment >= timestamp '2026-08-18')))
