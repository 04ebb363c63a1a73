-- Operation ids by rule: a path into the arguments of a tool's calls. A landing step: it is the
-- last look into a payload. Parameter: $source.
create or replace temp table operation_ids as
select
    p."row",
    p.part,
    r.path,
    json_extract_string(p.arguments, r.path) as operation_id
from parts p
join tool_rules r on r.tool = p.tool and r.path is not null
where p.source = $source and p.kind = 'tool_call' and p.arguments is not null;
delete from operation_ids where coalesce(operation_id, '') = '';
