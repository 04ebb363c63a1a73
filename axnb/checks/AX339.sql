-- id: AX339
-- name: shared-location
-- severity: warning
-- needs: snapshots
-- empty without: templates
--
-- Two templates store their snapshots at one place, and keys there hold only an actor's name, as they
-- do until July: two actors of one name mix their snapshots, and nothing there tells which template one
-- belongs to. Since then keys and manifests do.
select
    t.source,
    null as conversation_id,
    null::bigint as step,
    format('{} templates store at one location: {}.', count(*), array_to_string(list_sort(list(short(t.name)))[:4], ', ')) as sentence,
    [] as witness,
    null as snapshot,
    null as object,
    null as actor
from (
    select source, placed(space, name) as name, rtrim(location, '/') as location,
        rtrim(regexp_extract(location, '^[^:]+://[^/]+/?(.*)$', 1), '/') as path
    from templates where location is not null
    group by all
) t
where t.path in (select location from snapshots where layout = 'B0|B1')
group by t.source, t.location
having count(*) > 1
