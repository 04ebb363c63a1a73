-- id: AX201
-- name: unpaired-result
-- severity: warning
-- empty without: orphan_results
--
-- A result was logged and no call that it could answer. The call was lost with an append that failed,
-- was taken out by somebody, or stands under another id. Equal numbers of calls and results prove
-- nothing: a lost call and a lost result cancel out. The effect that the result speaks of has happened.
select
    o.source,
    o.conversation_id,
    o.step,
    format('a result of {}{} has no call.', case when o.tool = '' then 'a tool' else short(o.tool) end,
        case when o.call_id = '' then '' else ' for call ' || short(o.call_id) end) as sentence,
    [witness_row(e.step, e.digest)] as witness
from orphan_results o
left join event_rows e on e.source = o.source and e."row" = o."row"
