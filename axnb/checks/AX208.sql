-- id: AX208
-- name: no-stable-operation-id
-- severity: info
-- empty without: tool_calls
--
-- A tool that may change something has no operation id of its own, so its calls are known by the id
-- that the model gave them, or by none. That id is another one when the operation is asked for
-- again, and begins anew in each turn with some harnesses: a ledger cannot be searched by it alone.
-- Name the place of a stable id in axnb.toml, or say that the tool is not consequential.
select
    k.source,
    null as conversation_id,
    null as step,
    format('{} has no operation id of its own: {} known by {}.',
        case when k.tool = '' then 'a tool without a name' else short(k.tool) end,
        case when count(*) = 1 then '1 call is' else count(*) || ' calls are' end,
        case when bool_and(k.operation_id_from = 'none') then 'nothing'
            when bool_or(k.operation_id_from = 'none') then 'a call id or nothing' else 'a call id' end) as sentence,
    [] as witness
from tool_calls k
left join tool_rules r on r.source = k.source and r.tool = k.tool and r.path is not null
where k.consequential and r.tool is null
group by k.source, k.tool
