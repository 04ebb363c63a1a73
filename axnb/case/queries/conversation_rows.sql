-- Rows of one conversation in the order in which AX reads them; of a long one only its beginning,
-- its end and the marked steps. No payload is looked at. Parameters: $source, $id, $everything,
-- $most (rows of one that is not long), $head, $tail, $marked (steps).
with
logged as (
    select e."row", e.step, e.position, e.visible, state_name(e.state) as state, lower(hex(e.digest)) as digest,
        cast(null as varchar) as reason, '' as detail, 0::bigint as size
    from event_rows e
    where e.source = $source and e.conversation in (
        select conversation from conversation_numbers where source = $source and conversation_id = $id
    )
    union all
    select "row", step, position, visible, '', lower(hex(digest)), reason, detail, size
    from rejects
    where source = $source and conversation_id = $id
),
numbered as (
    select *, row_number() over (order by position, "row") as n, count(*) over () as total from logged
)
select *
from numbered
where $everything or total <= $most or n <= $head or n > total - $tail
    or step in (select unnest($marked::bigint[]))
order by n;
