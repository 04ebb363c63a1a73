-- id: AX339
-- name: shared-location
-- severity: warning
-- needs: snapshots
-- empty without: templates
--
-- Two templates store their snapshots at one place. Until July keys hold only an actor's name, so two
-- actors of one name mix their snapshots, and nothing there tells which template one belongs to.
select
    source,
    null as conversation_id,
    null::bigint as step,
    format('{} templates store at one location: {}.', count(*), array_to_string(list_sort(list(short(space || '/' || name)))[:4], ', ')) as sentence,
    [] as witness,
    null as snapshot,
    null as object,
    null as actor
from templates
where location is not null
group by source, rtrim(location, '/')
having count(*) > 1
