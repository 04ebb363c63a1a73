-- Operation ids by rule: a path into the arguments of a tool's calls. A landing step: it is the
-- last look into a payload. Where the value is a number, `arguments` stays beside it: DuckDB spells
-- some numbers anew (1e2 as 100.0), and to a ledger that is another key. Parameter: $source.
insert into operation_ids
select
    "row",
    part,
    path,
    case when kind = 'VARCHAR' then json_extract_string(arguments, path) else cast(found as varchar) end as operation_id,
    case when kind not in ('VARCHAR', 'BIGINT', 'UBIGINT') or operation_id = '0' then arguments end as arguments
from (
    select
        p."row", p.part, r.path, p.arguments,
        json_type(p.arguments, r.path) as kind,
        json_extract(p.arguments, r.path) as found
    from parts p
    join tool_rules r on r.source = $source and r.tool = p.tool and r.path is not null
    where p.source = $source and p.kind = 'tool_call' and p.arguments is not null
)
where kind <> 'NULL';
delete from operation_ids where coalesce(operation_id, '') = '';
