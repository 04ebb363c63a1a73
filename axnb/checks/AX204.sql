-- id: AX204
-- name: no-results-logged
-- severity: info
-- empty without: tool_calls
-- only with: unanswered_calls
--
-- The harness logs calls and never a result, anywhere in this source: a call without a result is
-- its normal shape, so no single call can be judged by it. The outcome of every one of them is
-- unknown from this log; only the tools' own systems know.
select
    h.source,
    null as conversation_id,
    null as step,
    format('{} logs calls without results: the outcome of all {} is unknown from this log.',
        case when h.harness_id = '' then 'the unnamed default harness' else short(h.harness_id) end, h.calls) as sentence,
    [] as witness
from silent_harnesses h
