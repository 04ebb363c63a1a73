-- id: AX209
-- name: missing-operation-id
-- severity: warning
-- empty without: tool_calls, tool_rules
--
-- axnb.toml says where the arguments of a tool hold its operation id, and this call has none there.
-- Its effect can be found in a ledger by its time and its content only.
select
    k.source,
    k.conversation_id,
    k.call_step as step,
    format('the call of {} has no operation id at {}.', short(k.tool), r.path) as sentence,
    [witness_row(e.step, e.digest)] as witness
from tool_calls k
join tool_rules r on r.source = k.source and r.tool = k.tool and r.path is not null
left join event_rows e on e.source = k.source and e."row" = k.call_row
where k.consequential and not starts_with(k.operation_id_from, '$')
