-- id: AX216
-- name: answer-without-question
-- severity: warning
-- empty without: careful_parts
--
-- A person's answer stands where no question with its id waits for one: none was asked before it, or an
-- earlier answer was given already. The question was lost or stands under another id, or the answer was
-- logged twice. What the person agreed to, or refused, cannot be told from this log.
select
    a.source,
    a.conversation_id,
    a.step,
    format('the answer {} at step {} is to no open question{}.', a.decision, a.step,
        case when a.before is null then '' else ': it was answered before' end) as sentence,
    [witness_row(a.step, e.digest)] as witness
from (
    select source, conversation_id, step, "row", decision,
        lag(decision) over (partition by source, conversation_id, call_id order by position, "row", part) as before
    from careful_parts
    where kind = 'confirmation'
) a
left join event_rows e on e.source = a.source and e."row" = a."row"
where a.decision <> 'asked' and a.before is distinct from 'asked'
