-- What became of each call, and entries that no call asked for. Parameters: $since and $until, the
-- earliest and the latest moment of any call; $is_whole, was every ledger read? `differing_pairs` (registered) holds pairs whose
-- arguments are not those of the ledger, `rounded_pairs` those whose numbers cannot tell. Makes
-- `calls_judged` and `entries_judged`.

-- What ledgers have of a call, in counts.
create or replace temp table counted as
select
    call,
    count(*) filter (mark = 1) as committed,
    count(*) filter (mark = 2) as reversed,
    count(*) filter (mark = 4) as undecided,
    count(*) filter (mark = 3) as failed,
    max(happened_at) filter (mark = 3) as failed_at,
    bool_or(is_doubtful) as is_doubtful,
    bool_or(is_same_business) as is_same_business,
    min(effect) as effect,
    min(how) as how,
    min(happened_at) filter (mark = 1) as happened_at,
    min(ledger_number) <> max(ledger_number) as in_several
from pairs
group by call;

-- What was done, and stands there as failed or taken back under the same id, may be one effect or
-- two. A failure before it was a try.
create or replace temp macro told_of(undecided, committed, reversed, failed, failed_at, happened_at) as
    case
        when undecided > 0 or (committed > 0 and reversed > 0) then 'undecided'
        when committed > 0 and failed > 0 and not coalesce(failed_at < happened_at, false)
            then 'undecided'
        when committed > 1 then 'twice'
        when committed = 1 then 'once'
        when reversed > 0 then 'reversed'
        else 'failed'
    end;

-- Several ledgers may tell of one call: each by itself, and all alike.
create or replace temp table told_by_several as
select call, case when count(distinct told) > 1 then 'contradiction' else min(told) end as told
from (
    select
        p.call,
        told_of(
            count(*) filter (p.mark = 4),
            count(*) filter (p.mark = 1),
            count(*) filter (p.mark = 2),
            count(*) filter (p.mark = 3),
            max(p.happened_at) filter (p.mark = 3),
            min(p.happened_at) filter (p.mark = 1)
        ) as told
    from pairs p
    semi join (select call from counted where in_several) s on s.call = p.call
    group by p.call, p.ledger_number
)
group by call;

create or replace temp table found as
select
    f.call, f.effect, f.how, f.is_doubtful, f.is_same_business, f.happened_at,
    coalesce(s.told, told_of(
        f.undecided, f.committed, f.reversed, f.failed, f.failed_at, f.happened_at
    )) as told
from counted f
left join told_by_several s on s.call = f.call;

-- When an unmatched call was made, the effects of calls before and after it tell, in the order of
-- commits: an effect happened before its result was logged, and not before its call was.
create or replace temp table unmatched as
select c.rowid as call, c.source, c.call_row, c.call_position, c.tool, c.conversation_id
from asked_calls c
anti join found f on f.call = c.rowid;

-- Rows of a conversation are in order in any store. Those of several are only where rows have the
-- numbers of their commits: in SQLite, unless the table has none, and then they lie in the order of
-- their keys.
create or replace temp table in_order as
select source
from (
    select
        source, least_row,
        max(most_row) over (
            partition by source order by conversation_id
            rows between unbounded preceding and 1 preceding
        ) as before
    from (
        select source, conversation_id, min(call_row) as least_row, max(call_row) as most_row
        from asked_calls
        group by source, conversation_id
    )
)
where source in (
    select source from sources
    where not contains(locator, '://') or starts_with(locator, 'sqlite:')
)
group by source
having bool_or(before is not null and before > least_row);

-- Where a ledger's span begins and ends, at the latest and at the earliest: a call after the first of
-- these rows and before the last lies within it.
create or replace temp table known as
select
    c.source, c.conversation_id, l.source as ledger, c.call_row, c.call_position,
    -- A call may fail in the log before it is done.
    f.happened_at >= l.covers_from and c.outcome = 'completed' as is_inside,
    case when is_inside then c.result_row end as row_inside,
    case when is_inside then c.result_position end as position_inside,
    f.happened_at <= l.covers_to - l.lag as is_before_end
from found f
semi join (select effect from pairs group by effect having count(*) = 1) p on p.effect = f.effect
join asked_calls c on c.rowid = f.call
semi join (select distinct source from unmatched) u on u.source = c.source
cross join ledgers l
where f.told = 'once' and not f.is_doubtful and f.happened_at is not null
    and l.covers_from is not null and l.covers_to is not null;

create or replace temp table spans as
select
    source, ledger, min(row_inside) as first_inside,
    max(call_row) filter (is_before_end) as last_inside
from known
semi join in_order using (source)
group by source, ledger;

create or replace temp table own_spans as
select
    source, ledger, conversation_id, min(position_inside) as first_inside,
    max(call_position) filter (is_before_end) as last_inside
from known
semi join (select distinct source, conversation_id from unmatched) u
    using (source, conversation_id)
group by source, ledger, conversation_id;

-- Every ledger that holds the tool must cover the call; one that was not read whole covers none, nor
-- one with an entry that may be any call's.
create or replace temp table covered as
select u.call
from unmatched u
join asked_calls c on c.rowid = u.call
join ledgers l on list_contains(l.tools, u.tool)
join sources w on w.source = l.source
left join spans s on s.source = u.source and s.ledger = l.source
left join own_spans o on o.source = u.source and o.ledger = l.source
    and o.conversation_id = u.conversation_id
left join (
    -- A server's log is a clock: no call of a conversation is older than its first request there.
    -- One that has fewer requests than the log has inputs has lost its beginning, and is none.
    select q.conversation_id, q.first
    from (
        select conversation_id, count(*) as requests, min("at") as first
        from server_events
        where event = 'request' and "at" is not null
        group by conversation_id
    ) q
    join (
        select n.source, n.conversation_id, count(*) as inputs
        from event_rows e
        join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
        where e.part_role = 'user' and e.part_kind <> 'tool_result'
        group by n.source, n.conversation_id
    ) i on i.conversation_id = q.conversation_id
    group by q.conversation_id, q.first, q.requests
    having q.requests >= max(i.inputs)
) r on r.conversation_id = u.conversation_id
left join (
    select distinct ledger, tool from ledger_entries where operation_id is null and mark <> 3
) a on a.ledger = l.source and (a.tool is null or a.tool = u.tool)
group by u.call
having $is_whole and bool_and(
    w.rejected = 0 and len(w.incomplete) = 0 and a.ledger is null
    and (l.has_conversation or not c.is_local)
    and coalesce(
        l.covers_from <= $since::timestamp or l.covers_from <= r.first
        or s.first_inside < u.call_row or o.first_inside < u.call_position, false
    )
    and coalesce(
        l.covers_to - l.lag >= $until::timestamp
        or s.last_inside > u.call_row or o.last_inside > u.call_position, false
    )
);

-- One operation id under different arguments is the id of no operation: everywhere, or, without a
-- NULL, in one conversation.
create or replace temp table misused as
select tool, operation_id, conversation_id
from shared_calls
group by grouping sets ((tool, operation_id, is_local), (tool, operation_id, conversation_id))
having count(distinct arguments) > 1 and (conversation_id is not null or not bool_or(is_local));

create or replace temp table calls_judged as
select
    c.source, c.call_row, c.part, c.rowid as call, c.tool, c.consequential, f.effect,
    c.consequential and c.outcome <> 'completed' as is_open,
    case
        when f.how is not null then f.how
        when c.operation_id is null then 'the log has no operation id'
        when o.call is not null then 'the ledger does not tell whose id it is'
        else 'nothing'
    end as how,
    case
        when n.call is not null then 'ambiguous-number'
        when f.how is null and t.tool is null then 'no-ledger'
        when c.operation_id is null or (f.how is null and o.call is not null) then 'ambiguous'
        when o.is_loose then 'ambiguous'
        when f.how is null and v.call is not null and c.outcome = 'declined' then 'matched'
        when f.how is null and v.call is not null then 'not-executed'
        when f.how is null then 'not-covered'
        when f.is_doubtful or m.operation_id is not null then 'ambiguous'
        when f.told in ('contradiction', 'undecided') then 'ambiguous'
        when f.told = 'twice' or (f.told = 'once' and f.is_same_business) then 'duplicated'
        when f.told = 'reversed' then 'reversed'
        when f.told = 'once' and (c.is_cancelled or c.outcome = 'declined') then 'cancelled-committed'
        when f.told = 'once' and d.call is not null then 'arguments-differ'
        when f.told = 'once' and c.outcome = 'completed' then 'matched'
        when f.told = 'once' then 'result-lost'
        when d.call is not null then 'ambiguous'
        when c.outcome in ('failed', 'declined') then 'matched'
        when c.outcome = 'completed' then 'ambiguous'
        else 'not-executed'
    end as class
from asked_calls c
left join found f on f.call = c.rowid
left join (select distinct unnest(tools) as tool from ledgers) t on t.tool = c.tool
left join open_calls o on o.call = c.rowid
left join covered v on v.call = c.rowid
left join misused m on m.tool = c.tool and m.operation_id = c.operation_id
    and m.conversation_id is not distinct from
        case when c.is_local or f.how = 'operation id and conversation' then c.conversation_id end
left join (select distinct call from differing_pairs) d on d.call = c.rowid
left join (
    select call from rounded_calls
    union
    select call from rounded_pairs
) n on n.call = c.rowid;

-- Entries that belong to no call. One whose id may be that of any call is none of them, and neither is
-- one that takes back what a call did, or tells that nothing happened.
create or replace temp table entries_judged as
with
alone as (
    select e.effect, e.ledger, e.tool, e.operation_id, e.conversation_id, e.reverses
    from ledger_entries e
    anti join pairs p on p.effect = e.effect
    where e.mark <> 3
)
select e.effect, e.tool
from alone e
anti join local_calls c on c.operation_id = e.operation_id and (e.tool is null or e.tool = c.tool)
    and (e.conversation_id is null or e.conversation_id = c.conversation_id)
anti join asked_calls g on g.operation_id = e.operation_id and not g.is_local
    and (e.tool is null or e.tool = g.tool)
anti join (
    select b.effect
    from alone b
    semi join (
        select distinct e.ledger, e.operation_id
        from ledger_entries e
        semi join pairs p on p.effect = e.effect
    ) e on e.ledger = b.ledger and e.operation_id = b.reverses
) back on back.effect = e.effect;
