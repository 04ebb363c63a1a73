-- Which call may be which effect. Nothing is judged here. Temp tables, by the names below; `call` is
-- the rowid of the first, and `effect` the ledger and the row of an entry as one number.

-- Calls, with how far their operation id reaches: one that a rule took from the arguments is the
-- same everywhere, a call id only within its conversation, and there at best.
create or replace temp table asked_calls as
select
    c.source, c.call_row, c.part, c.conversation_id, c.call_step, c.call_position,
    c.result_row, c.result_position, c.tool,
    -- As ids of ledgers are loaded: without space around them, a whole number without its fraction.
    case
        when ends_with(trim(c.operation_id), '.0')
            then regexp_replace(trim(c.operation_id), '^(-?[0-9]{1,15})[.]0$', '\1')
        else nullif(trim(c.operation_id), '')
    end as operation_id,
    c.operation_id_from = 'call-id' as is_local,
    c.outcome, c.consequential,
    t.turn is not null as is_cancelled
from tool_calls c
left join turns t on t.source = c.source and t.conversation_id = c.conversation_id
    and t.turn = c.turn and t.ended = 'STATE_CANCELED';

-- Entries that another one takes back, for sure or perhaps. Of several conversations that use one id
-- it is the one that the other entry names.
create or replace temp table taken_back as
select e.source, e."row", bool_or(r.is_sure) as is_sure
from effects e
join (
    select distinct source, conversation_id, reverses, state in ('committed', 'reversed') as is_sure
    from effects where reverses is not null and state <> 'failed'
) r on r.source = e.source and r.reverses = e.operation_id
    and (r.conversation_id is null or e.conversation_id is null
        or r.conversation_id = e.conversation_id)
group by e.source, e."row";

-- One business under several operation ids.
create or replace temp table same_business as
select e.source, e.tool, e.business
from effects e
anti join taken_back r on r.source = e.source and r."row" = e."row" and r.is_sure
where e.business is not null and e.state = 'committed' and e.reverses is null
group by e.source, e.tool, e.business
having count(distinct (e.conversation_id, e.operation_id)) > 1;

-- Entries of ledgers, by what counts of them: `mark` is committed, reversed, failed or undecided.
create or replace temp table ledger_entries as
select
    l.rowid * 1099511627776 + e."row" as effect,
    e.source as ledger, l.rowid as ledger_number, e."row" as entry, e.tool, e.operation_id,
    e.conversation_id, e.happened_at, e.reverses, e.compared,
    case
        when e.state = 'reversed' or (e.state = 'committed' and r.is_sure) then 2
        when e.state = 'committed' and r."row" is null then 1
        when e.state = 'failed' then 3
        else 4
    end::tinyint as mark,
    b.source is not null as is_same_business
from effects e
join ledgers l on l.source = e.source
left join taken_back r on r.source = e.source and r."row" = e."row"
left join same_business b on b.source = e.source and b.tool is not distinct from e.tool
    and b.business = e.business;

-- Of many entries of one kind under one id the first few tell enough.
create or replace temp table few_entries as
select *
from ledger_entries
where operation_id is not null
qualify row_number() over (
    partition by ledger_number, tool, operation_id, conversation_id, mark order by effect
) <= 3;

-- A call and an entry that name the same operation; `how` is what they have in common, and whether
-- that may be something else too. Where both tell the conversation, it decides.
create or replace temp table pairs as
select
    c.rowid as call, e.effect,
    case when e.tool is null then 'operation id and conversation, of no tool'
        else 'operation id and conversation' end as how,
    e.tool is null as is_doubtful,
    e.mark, e.is_same_business, e.happened_at, e.ledger_number
from asked_calls c
join few_entries e on e.operation_id = c.operation_id and e.conversation_id = c.conversation_id
    and (e.tool is null or e.tool = c.tool)
where not c.is_local;

create or replace temp table elsewhere as
select e.*
from few_entries e
anti join pairs p on p.effect = e.effect
anti join asked_calls c on not c.is_local and c.operation_id = e.operation_id
    and c.conversation_id = e.conversation_id and (e.tool is null or e.tool = c.tool)
qualify row_number() over (
    partition by e.ledger_number, e.tool, e.operation_id, e.conversation_id is null, e.mark
    order by e.effect
) <= 3;

insert into pairs
select
    c.rowid, e.effect,
    case
        when e.tool is null then 'operation id, of no tool'
        when e.conversation_id is null then 'operation id'
        else 'operation id, in another conversation'
    end as how,
    how <> 'operation id' as is_doubtful,
    e.mark, e.is_same_business, e.happened_at, e.ledger_number
from asked_calls c
join elsewhere e on e.operation_id = c.operation_id and (e.tool is null or e.tool = c.tool)
where not c.is_local;

-- Calls of a conversation that share one id: what stands in the ledger as often is theirs in order.
create or replace temp table local_calls as
select
    rowid as call, conversation_id, tool, operation_id,
    count(*) over same as calls,
    row_number() over (same order by call_row, part) as place
from asked_calls
where is_local
window same as (partition by source, conversation_id, tool, operation_id);

create or replace temp table local_entries as
select
    e.*,
    count(*) over same as entries,
    row_number() over (same order by e.happened_at nulls last, e.entry) as place
from ledger_entries e
semi join local_calls c on c.operation_id = e.operation_id and c.conversation_id = e.conversation_id
window same as (partition by e.ledger, e.conversation_id, e.tool, e.operation_id);

insert into pairs
select
    c.call, e.effect,
    case
        when e.tool is null then 'call id in its conversation, of no tool'
        when c.calls = 1 then 'call id in its conversation'
        when c.calls = e.entries then 'call id in its conversation, in order'
        else 'call id that several calls share'
    end as how,
    e.tool is null or (c.calls > 1 and c.calls <> e.entries) as is_doubtful,
    e.mark, e.is_same_business, e.happened_at, e.ledger_number
from local_calls c
join local_entries e on e.operation_id = c.operation_id
    and e.conversation_id = c.conversation_id and (e.tool is null or e.tool = c.tool)
    and (c.calls = 1 or e.place = c.place);

-- Calls whose id stands in a ledger where nothing tells whose it is: without a conversation, or less
-- often than calls share it.
create or replace temp table open_calls as
select call, bool_or(is_loose) as is_loose
from (
    select c.call, true as is_loose
    from local_calls c
    semi join (
        select distinct tool, operation_id from ledger_entries where conversation_id is null
    ) e on e.operation_id = c.operation_id and (e.tool is null or e.tool = c.tool)
    union all
    select c.call, false
    from local_calls c
    semi join local_entries e on e.operation_id = c.operation_id
        and e.conversation_id = c.conversation_id and (e.tool is null or e.tool = c.tool)
    where c.calls > 1
)
group by call;
