-- id: AX154
-- name: internal-only
-- severity: info
-- empty without: executions
--
-- G3 kept what an agent marked as internal in execution_log alone. It is no gap of the conversation:
-- G3 never sent it to an agent again, and no later generation reads that table. The next run works
-- without it; where an agent needs it (the session of a program that it drives, say), a person must
-- hand it over.
select
    e.source,
    n.conversation_id,
    null as step,
    format('{} in execution_log only (internal): the next run does not get {}.',
        case when sum(e.internal) = 1 then '1 message is' else sum(e.internal) || ' messages are' end,
        case when sum(e.internal) = 1 then 'it' else 'them' end) as sentence,
    [] as witness
from executions e
join (select distinct source, conversation_id, exec_id from events) n
    -- The execution of an agent that an agent called: the caller's id, which is a UUID, and its own.
    on n.source = e.source and n.exec_id in (e.exec_id, left(e.exec_id, 36))
where e.internal > 0
group by e.source, n.conversation_id
