-- id: AX153
-- name: orphaned-executions
-- severity: info
-- empty without: executions
--
-- execution_log holds executions that no row of any conversation names. Their conversations were
-- deleted: G3 leaves the executions of agents that an agent called, and every later generation leaves
-- all of them. Inputs and outputs of a deleted conversation are still in the file.
with
named as (select distinct source, exec_id from event_rows where exec_id is not null)
select
    e.source,
    null as conversation_id,
    null as step,
    format('{} of execution_log {} to no conversation of the log.',
        case when count(distinct e.exec_id) = 1 then '1 execution' else count(distinct e.exec_id) || ' executions' end,
        case when count(distinct e.exec_id) = 1 then 'belongs' else 'belong' end) as sentence,
    [] as witness
from executions e
join sources s on s.source = e.source and s.scope is null
left join named n on n.source = e.source and n.exec_id = e.exec_id
-- The execution of an agent that an agent called: the caller's id, which is a UUID, and its own.
left join named p on p.source = e.source and p.exec_id = left(e.exec_id, 36)
where n.source is null and p.source is null
group by e.source
