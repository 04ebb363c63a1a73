-- id: AX213
-- name: ambiguous-operation-id
-- severity: warning
-- empty without: tool_calls, oddities
--
-- The operation id of a call is a number of 2^53 or more, and AX keeps it as a double: the log may
-- hold another number than the tool was given. Neighbours of it in a ledger are candidates too;
-- a match by this number alone is none.
select distinct
    k.source,
    k.conversation_id,
    k.call_step as step,
    format('operation {} of {} is a number of 2^53 or more: it may have been another one.', short(k.operation_id), short(k.tool)) as sentence,
    [witness_row(k.call_step, o.digest)] as witness
from oddities o
join tool_calls k on k.source = o.source and k.call_row = o."row" and starts_with(k.operation_id_from, '$')
    -- A place of an oddity quotes keys that are no plain names.
    and ends_with(
        o.path,
        '.arguments' || regexp_replace(substr(k.operation_id_from, 2), '\.([A-Za-z0-9_]*-[A-Za-z0-9_-]*)', '."\1"', 'g')
    )
where o.kind = 'big-number'
