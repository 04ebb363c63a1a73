-- id: AX326
-- name: golden-of-other-class
-- severity: error
-- needs: snapshots
-- empty without: mapped
--
-- A golden snapshot is of another sandbox class than its template. Substrate refuses to put an actor's
-- data onto it, with FailedPrecondition.
select
    m.source,
    m.logged_id as conversation_id,
    null::bigint as step,
    format('it is golden and of class {}, its template is of class {}.', short(m.sandbox_class), short(t.sandbox_class)) as sentence,
    [] as witness,
    m.snapshot,
    m.snapshot || '/manifest.json' as object,
    null as actor
from mapped m
join named n on n.bucket_source = m.source and n.prefix = m.snapshot and n.kind = 'template'
join templates t on t.source = n.source and t.space = n.space and t.name = n.name
where m.sandbox_class <> t.sandbox_class
