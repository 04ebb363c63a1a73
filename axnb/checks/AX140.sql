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
    format('the log holds rows of {}.', array_to_string(list_sort(list(generation)), ', ')) as sentence,
    [] as witness
from (select distinct source, generation from turns)
group by source
having count(*) > 1
union all
select
    t.source,
    t.conversation_id,
    e.step,
    format('the conversation holds turns of {}.', array_to_string(list_sort(t.generations), ', ')) as sentence,
    [witness_row(e.step, e.digest)] as witness
from (
    -- The first turn that another generation wrote than the conversation's first.
    select
        source, conversation_id, list(generation) as generations,
        arg_min(first_row, first_turn, 2)[2] as first_row
    from (
        select source, conversation_id, generation, min(turn) as first_turn, arg_min(first_row, turn) as first_row
        from turns
        group by source, conversation_id, generation
    )
    group by source, conversation_id
    having count(*) > 1
) t
left join log_rows e on e.source = t.source and e."row" = t.first_row
union all
-- Which generations write a row of a shape, `axnb/ax/rows.py` says. The witness is the first such row.
select
    e.source,
    o.conversation_id,
    arg_min(e.step, place) as step,
    format('step {} is a row of another generation than its turn.', arg_min(e.step, place)),
    [arg_min(witness_row(e.step, e.digest), place)]
from (
    -- Kept whole: else conversations are held against each other's shapes, a million of a thousand.
    with shaped as materialized (
        select s.source, s.conversation, s.shape, n.conversation_id
        from (select distinct source, conversation, shape from event_rows) s
        join conversation_numbers n on n.source = s.source and n.conversation = s.conversation
    )
    select s.source, s.conversation, s.shape, s.conversation_id
    from shaped s
    join conversations c on c.source = s.source and c.conversation_id = s.conversation_id
    where not list_has_any(c.generations, case
        when s.shape = 'exec' then ['G3', 'G4', 'G5b']
        when s.shape = 'G5' then ['G5', 'G5b', 'G5|G5b']
        when s.shape in ('G6', 'G7', 'G8') then [cast(s.shape as varchar)]
        else ['G7', 'G8']
    end)
) o
join (select *, struct_pack(p := position, r := "row") as place from event_rows) e
    on e.source = o.source and e.conversation = o.conversation and e.shape = o.shape
group by e.source, o.conversation_id, o.shape
union all
-- A copy that was migrated to G5b keeps the exec_id of G3 and G4, on every row of a turn or on none.
select
    t.source,
    t.conversation_id,
    arg_min(e.step, struct_pack(p := e.position, r := e."row")) filter (e.shape = 'exec') as step,
    format('step {} is a row of another generation than its turn.',
        arg_min(e.step, struct_pack(p := e.position, r := e."row")) filter (e.shape = 'exec')),
    [arg_min(witness_row(e.step, e.digest), struct_pack(p := e.position, r := e."row")) filter (e.shape = 'exec')]
from (
    select source, conversation
    from (select distinct source, conversation, shape from event_rows where shape in ('exec', 'G5'))
    group by source, conversation
    having count(*) = 2
) b
join conversation_numbers n on n.source = b.source and n.conversation = b.conversation
join turns t on t.source = b.source and t.conversation_id = n.conversation_id and t.generation = 'G5b'
join event_rows e on e.source = b.source and e.conversation = b.conversation
    and e.position between t.first_position and t.last_position
group by t.source, t.conversation_id, t.turn
having bool_or(e.shape = 'exec') and bool_or(e.shape = 'G5')
