-- Operation ids by rule: a path into the arguments of a tool's calls. A landing step: it is the
-- last look into a payload. Parameter: $source.
create or replace temp table operation_ids as
select
    p."row",
    p.part,
    r.path,
    case
        -- DuckDB writes -0 as 0, and to a ledger they may be two keys.
        when json_extract_string(p.arguments, r.path) = '0' and regexp_matches(p.arguments,
            '"' || regexp_extract(r.path, '[A-Za-z_][A-Za-z0-9_-]*$') || '"\s*:\s*-0[^0-9.]') then '-0'
        else json_extract_string(p.arguments, r.path)
    end as operation_id
from parts p
join tool_rules r on r.tool = p.tool and r.path is not null
where p.source = $source and p.kind = 'tool_call' and p.arguments is not null;
delete from operation_ids where coalesce(operation_id, '') = '';
