-- What some conversations hold, a row a part and in the order in which AX reads them: which kinds of
-- part, and whether the row ends its turn or cannot be read. No payload is looked at. Parameters:
-- $sources and $ids, of the same length.
with
wanted as (
    select n.source, n.conversation, n.conversation_id
    from (select unnest($sources::varchar[]) as source, unnest($ids::varchar[]) as conversation_id) w
    join conversation_numbers n on n.source = w.source and n.conversation_id = w.conversation_id
),
logged as (
    select w.source, w.conversation_id, e."row", e.step, e.position, state_name(e.state) as state, true as readable
    from wanted w
    join event_rows e on e.source = w.source and e.conversation = w.conversation
    union all
    select w.source, w.conversation_id, j."row", j.step, j.position, '', false
    from wanted w
    join rejects j on j.source = w.source and j.conversation_id = w.conversation_id
)
select l.source, l.conversation_id, l."row", l.step, l.state, l.readable, p.kind, p."role", p.decision
from logged l
left join parts p on p.source = l.source and p."row" = l."row"
order by l.source, l.conversation_id, l.position, l."row", p.part;
