-- What became of each call, and entries that no call asked for. Parameters: $since and $until, the
-- earliest and the latest moment of any call. `differing_pairs` (registered) holds pairs whose
-- arguments are not those of the ledger, `rounded_pairs` calls whose numbers cannot tell. Makes
-- `calls_judged` and `entries_judged`.

-- What each ledger has of a call.
create or replace temp table by_ledger as
select
    p.source, p.call_row, p.part, p.ledger,
    count(*) filter (e.state = 'committed' and not e.is_reversed) as committed,
    count(*) filter (e.is_reversed) as reversed,
    count(*) filter (e.state = 'failed') as failed,
    count(*) filter (e.state in ('pending', 'unclear')) as undecided,
    bool_or(p.is_doubtful) as is_doubtful,
    bool_or(d.entry is not null) as differs,
    bool_or(b.ledger is not null) as is_same_business,
    min(p.entry) as entry,
    arg_min(p.how, p.entry) as how,
    min(e.happened_at) filter (e.state = 'committed') as happened_at,
    case
        when undecided > 0 then 'undecided'
        when committed > 1 then 'twice'
        when committed = 1 then 'once'
        when reversed > 0 then 'reversed'
        else 'failed'
    end as told
from pairs p
join ledger_entries e on e.ledger = p.ledger and e.entry = p.entry
left join differing_pairs d on d.ledger = p.ledger and d.entry = p.entry
    and d.source = p.source and d.call_row = p.call_row and d.part = p.part
left join (
    -- One business under several operation ids.
    select ledger, tool, business
    from ledger_entries
    where business is not null and state = 'committed' and not is_reversed and reverses is null
    group by ledger, tool, business
    having count(distinct operation_id) > 1
) b on b.ledger = e.ledger and b.tool is not distinct from e.tool and b.business = e.business
group by p.source, p.call_row, p.part, p.ledger;

create or replace temp table found as
select
    source, call_row, part,
    case when count(distinct told) > 1 then 'contradiction' else min(told) end as told,
    bool_or(is_doubtful) as is_doubtful,
    bool_or(differs) as differs,
    bool_or(is_same_business) as is_same_business,
    min(ledger) as ledger,
    arg_min(entry, ledger) as entry,
    arg_min(how, ledger) as how,
    min(happened_at) as happened_at
from by_ledger
group by source, call_row, part;

-- An unmatched call was made between the effects of calls before and after it, in the order of
-- commits: an effect happened before its result was logged, and not before its call was.
create or replace temp table moments as
with
known as (
    select c.source, c.call_row, c.result_row, f.happened_at
    from found f
    join asked_calls c on c.source = f.source and c.call_row = f.call_row and c.part = f.part
    where f.told = 'once' and not f.is_doubtful and f.happened_at is not null
),
marks as (
    select
        source, result_row as place, 0 as kind, happened_at as before, null::timestamp as after,
        null::bigint as part
    from known
    where result_row is not null
    union all
    select source, call_row, 2, null, happened_at, null from known
    union all
    select c.source, c.call_row, 1, null, null, c.part
    from asked_calls c
    anti join found f on f.source = c.source and f.call_row = c.call_row and f.part = c.part
),
bounded as (
    select
        source, place as call_row, part,
        max(before) over (
            partition by source order by place, kind
            rows between unbounded preceding and current row
        ) as earliest,
        min(after) over (
            partition by source order by place, kind
            rows between current row and unbounded following
        ) as latest
    from marks
),
requests as (
    -- A server's log is a clock: no call of a conversation is older than its first request there.
    select conversation_id, min("at") as first
    from server_events
    where event = 'request' and "at" is not null
    group by conversation_id
)
select
    c.source, c.call_row, c.part, c.tool,
    -- Of several lower bounds the latest counts; NULL is none.
    greatest(b.earliest, r.first, $since::timestamp) as earliest,
    least(b.latest, $until::timestamp) as latest
from bounded b
join asked_calls c on c.source = b.source and c.call_row = b.call_row and c.part = b.part
left join requests r on r.conversation_id = c.conversation_id;

create or replace temp table covered as
select distinct m.source, m.call_row, m.part
from moments m
join ledgers l on list_contains(l.tools, m.tool)
where l.covers_from <= m.earliest and l.covers_to - l.lag >= m.latest;

-- One operation id under different arguments is the id of no operation.
create or replace temp table misused as
select source, tool, operation_id
from shared_calls
group by source, tool, operation_id
having count(distinct arguments) > 1;

create or replace temp table calls_judged as
select
    c.source, c.call_row, c.part, c.conversation_id, c.call_step, c.tool, c.operation_id, c.outcome,
    c.consequential, f.ledger, f.entry,
    case
        when f.how is not null then f.how
        when c.operation_id is null then 'the log has no operation id'
        when o.call_row is not null then 'the ledger does not tell whose id it is'
        else 'nothing'
    end as how,
    case
        when n.call_row is not null then 'ambiguous-number'
        when f.how is null and t.tool is null then 'no-ledger'
        when c.operation_id is null or (f.how is null and o.call_row is not null) then 'ambiguous'
        when f.how is null then case when v.call_row is not null then 'not-executed' else 'not-covered' end
        when f.is_doubtful or s.operation_id is not null then 'ambiguous'
        when f.told in ('contradiction', 'undecided') then 'ambiguous'
        when f.told = 'twice' or (f.told = 'once' and f.is_same_business) then 'duplicated'
        when f.told = 'reversed' then 'reversed'
        when f.told = 'once' and (c.is_cancelled or c.outcome = 'declined') then 'cancelled-committed'
        when f.told = 'once' and f.differs then 'arguments-differ'
        when f.told = 'once' and c.outcome = 'completed' then 'matched'
        when f.told = 'once' then 'result-lost'
        when c.outcome in ('failed', 'declined') then 'matched'
        when c.outcome = 'completed' then 'ambiguous'
        else 'not-executed'
    end as class
from asked_calls c
left join found f on f.source = c.source and f.call_row = c.call_row and f.part = c.part
left join (select distinct unnest(tools) as tool from ledgers) t on t.tool = c.tool
left join open_calls o on o.source = c.source and o.call_row = c.call_row and o.part = c.part
left join covered v on v.source = c.source and v.call_row = c.call_row and v.part = c.part
left join misused s on s.source = c.source and s.tool = c.tool and s.operation_id = c.operation_id
left join (
    select source, call_row, part from rounded_calls
    union
    select source, call_row, part from rounded_pairs
) n on n.source = c.source and n.call_row = c.call_row and n.part = c.part;

-- Entries that belong to no call. One whose id may be that of any call is none of them, and neither is
-- one that takes back what a call did, or tells that nothing happened.
create or replace temp table entries_judged as
select e.ledger, e.entry, e.tool, e.operation_id, e.conversation_id, e.state
from ledger_entries e
anti join pairs p on p.ledger = e.ledger and p.entry = e.entry
anti join (
    select distinct conversation_id, tool, operation_id from asked_calls where is_local
) c on c.operation_id = e.operation_id and (e.tool is null or e.tool = c.tool)
    and (e.conversation_id is null or e.conversation_id = c.conversation_id)
anti join (
    select distinct e.ledger, e.operation_id
    from ledger_entries e
    join pairs p on p.ledger = e.ledger and p.entry = e.entry
) back on back.ledger = e.ledger and back.operation_id = e.reverses
where e.state <> 'failed';
