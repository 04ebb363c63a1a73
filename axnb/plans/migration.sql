-- What a migration has to know of a whole log. Irregular is a row that the table of another
-- generation cannot hold: a key of another class, one that occurs twice, or one nobody could read.
-- Parameter: $source.
with
stored as (
    select
        n.conversation_id, e.step, e.visible and e.position = e.step as regular,
        strlen(e.payload) as size, cast(e.shape as varchar) as shape, e.exec_id is not null as executed,
        e.config is not null and not starts_with(e.config, '{') as encoded
    from event_rows e
    join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
    where e.source = $source
    union all
    select conversation_id, step,
        starts_with(key_text, 'text,integer,') and reason not in ('damaged', 'no payload'),
        size, shape, false, false
    from rejects where source = $source
)
select
    count(*) as rows,
    coalesce(sum(size), 0) as size,
    max(step) as last_step,
    count(*) filter (not coalesce(regular, false))
        + count(*) filter (regular) - count(distinct (conversation_id, step)) filter (regular) as irregular,
    coalesce(min(conversation_id) filter (not coalesce(regular, false)), '') as irregular_one,
    count(*) filter (executed) as executed,
    count(*) filter (encoded) as encoded,
    coalesce(bool_or(shape in ('exec', 'G5', 'G6')), false) as has_messages,
    coalesce(bool_or(shape in ('G7', 'G8', 'steps')), false) as has_steps
from stored;
