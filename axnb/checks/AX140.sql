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
union all
select
    f.source,
    n.conversation_id,
    f.first.step,
    format('step {} is a row of another generation than its turn.', f.first.step),
    [struct_pack(step := f.first.step, digest := lower(hex(f.first.digest)))]
from (
    -- The first row of each shape; which generations write it, `axnb/ax/rows.py` says.
    select source, conversation, shape,
        arg_min(struct_pack(step := step, digest := digest), struct_pack(p := position, r := "row")) as first
    from event_rows
    group by source, conversation, shape
) f
join conversation_numbers n on n.source = f.source and n.conversation = f.conversation
join conversations c on c.source = f.source and c.conversation_id = n.conversation_id
where not list_has_any(c.generations, case
    when f.shape = 'exec' then ['G3', 'G4']
    when f.shape = 'G5' then ['G5', 'G5b', 'G5|G5b']
    when f.shape in ('G6', 'G7', 'G8') then [cast(f.shape as varchar)]
    else ['G7', 'G8']
end)
