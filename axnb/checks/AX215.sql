-- id: AX215
-- name: nameless-call
-- severity: warning
-- empty without: tool_calls
-- only with: nameless_tools
--
-- A call names no tool. No harness logs such a call, so the name was lost or taken out. Nobody can say
-- from this log which tool was asked, and where its effect could be read back.
select
    k.source,
    k.conversation_id,
    k.call_step as step,
    format('the call at step {} names no tool.', k.call_step) as sentence,
    [witness_row(k.call_step, e.digest)] as witness
from tool_calls k
left join event_rows e on e.source = k.source and e."row" = k.call_row
where k.tool = ''
