-- The last look into the payloads of calls: what ledgers are compared with, and ids that more than
-- one call has. Makes `to_compare_arguments`, `shared_calls` and `rounded_calls`.

create or replace temp table to_compare_arguments as
select p.call, p.effect, a.arguments, l.paths, e.compared as texts
from pairs p
join ledger_entries e on e.effect = p.effect
join ledgers l on l.source = e.ledger and len(l.paths) > 0
join asked_calls c on c.rowid = p.call
join parts a on a.source = c.source and a."row" = c.call_row and a.part = c.part
where a.kind = 'tool_call';

create or replace temp table shared_calls as
select c.conversation_id, c.tool, c.operation_id, c.is_local, a.arguments
from asked_calls c
semi join (
    select tool, operation_id, case when is_local then conversation_id end as conversation_id
    from asked_calls
    where operation_id is not null
    group by tool, operation_id, is_local, case when is_local then conversation_id end
    having count(*) > 1 and (not is_local or count(distinct source) > 1)
) s on s.tool = c.tool and s.operation_id = c.operation_id
    and (s.conversation_id is null or s.conversation_id = c.conversation_id)
join parts a on a.source = c.source and a."row" = c.call_row and a.part = c.part
where a.kind = 'tool_call';

-- Numbers that a double cannot hold were rounded before they were logged.
create or replace temp table rounded_calls as
select distinct a.rowid as call
from oddities o
join tool_calls c on c.source = o.source and c.call_row = o."row"
    and c.operation_id_from not in ('call-id', 'none')
    and ends_with(replace(o.path, '"', ''), '.arguments' || substr(c.operation_id_from, 2))
join asked_calls a on a.source = c.source and a.call_row = c.call_row and a.part = c.part
where o.kind = 'big-number';
