-- id: AX148
-- name: execution-lost
-- severity: error
-- needs: answers
-- only with: lost_executions
--
-- G3 keeps what it runs in a second table, execution_log. The pending execution of this conversation
-- is not there, or is closed there already: another conversation shares it, as after a fork, and was
-- deleted or finished. G3 then fails every request, or ends the turn as COMPLETED although nothing ran.
select
    a.source,
    a.conversation_id,
    null as step,
    case a.empty
        when 'lost-pending' then 'the pending execution is not in execution_log: every request fails.'
        else 'the pending execution is closed in execution_log: the next request ends the turn without running it.'
    end as sentence,
    [] as witness
from answers a
where a.empty in ('lost-pending', 'closes-unrun')
