-- id: AX103
-- name: missing-tail
-- severity: error
-- needs: witnesses
-- empty without: expectations or client_outputs or copies or missing_copies
--
-- The log ends before what somebody expected (--expect-last), before what a client was sent (the
-- highest number in its transcript), or before another log that holds the same conversation and
-- agrees with this one as far as this one goes. An older backup was restored, or rows were deleted.
-- AX does not notice: it would hand out the missing numbers again, and run again what was run.
-- A conversation that is in no log is found too. The witness is the last row that is there.
with
claimed as (
    select s.source, s.conversation_id, e.last, 1 as rank,
        format('step {} was expected ({})', e.last, e.origin) as word
    from subjects s
    join expectations e on e.conversation_id = s.conversation_id
    union all
    select s.source, s.conversation_id, o.last, 2, format('{} was sent step {}', o.source, o.last)
    from subjects s
    join (
        select conversation_id, max(number) as last, arg_max(source, struct_pack(n := number, s := source)) as source
        from client_outputs where number > 0 group by conversation_id
    ) o on o.conversation_id = s.conversation_id
    union all
    select p.source, p.conversation_id, c.last_step, 3, format('{} goes on to step {}', p.other, c.last_step)
    from copies p
    join conversations c on c.source = p.other and c.conversation_id = p.conversation_id
    where p.is_related and p.first_different is null
    union all
    select source, conversation_id, last, 3, format('{} holds it up to step {}', other, last)
    from missing_copies
),
furthest as (
    select distinct on (source, conversation_id) *
    from claimed
    order by source, conversation_id, last desc, rank, word
),
deleted as (
    select distinct conversation_id from server_events where reason = 'deleted'
)
select distinct on (f.source, f.conversation_id)
    f.source,
    f.conversation_id,
    c.last_step as step,
    format('{}, and {}: {}{}.',
        case
            when c.source is not null then format('it ends at step {}', coalesce(cast(c.last_step as varchar), 'unknown'))
            when s.kind = 'eventlog' then 'it is not in this log'
            else 'it is in no log'
        end,
        f.word,
        case f.last - greatest(c.last_step, 0)
            when 1 then '1 step is missing'
            else format('{} steps are missing', f.last - greatest(c.last_step, 0))
        end,
        case when d.conversation_id is not null then '; the server log tells of a deletion' else '' end) as sentence,
    case when c.last_step is null then []
        else [witness_row(c.last_step, e.digest)] end as witness
from furthest f
left join sources s on s.source = f.source
left join conversations c on c.source = f.source and c.conversation_id = f.conversation_id
left join deleted d on d.conversation_id = f.conversation_id
left join events e on e.source = f.source and e.conversation_id = f.conversation_id and e.step = c.last_step
where f.last > greatest(c.last_step, 0)
order by f.source, f.conversation_id, e."row" desc
