-- id: AX140
-- name: mixed-generations
-- severity: warning
--
-- The log, or one conversation of it, holds rows of several generations of AX: a server was upgraded,
-- or rolled back, without a migration. No generation reads all of another's rows as they were meant.
select
    source,
    null as conversation_id,
    null as step,
    format('the log holds rows of {}.', array_to_string(list_sort(list(distinct generation)), ', ')) as sentence,
    [] as witness
from turns
group by source
having count(distinct generation) > 1
union all
select
    t.source,
    t.conversation_id,
    e.step,
    format('the conversation holds turns of {}.', array_to_string(list_sort(t.generations), ', ')) as sentence,
    [struct_pack(step := e.step, digest := lower(hex(e.digest)))] as witness
from (
    -- The first turn that another generation wrote than the conversation's first.
    select
        source, conversation_id, list(distinct generation) as generations,
        arg_min(first_row, turn) filter (generation <> first_generation) as first_row
    from (
        select *, first_value(generation) over (partition by source, conversation_id order by turn) as first_generation
        from turns
    )
    group by source, conversation_id
    having count(distinct generation) > 1
) t
left join log_rows e on e.source = t.source and e."row" = t.first_row
