-- What records say of templates, a row a template, with what its golden snapshot holds. `linked` and
-- `named` are temp tables of axnb/mapping/links.sql.
with
golden as (
    -- Named by the template; since September by a tag of the template's uid; else its own manifest
    -- names the template's uid (since 2026-07-27).
    select t.space, t.name, n.bucket_source as source, n.prefix as snapshot, true as is_told
    from templates t
    join named n on n.kind = 'template' and n.source = t.source and n.space = t.space and n.name = t.name
    union all
    select t.space, t.name, n.bucket_source, n.prefix, true
    from templates t
    join named n on n.kind = 'tag' and n.space = 'ate-golden' and n.name = t.uid
    union all
    select t.space, t.name, l.source, l.snapshot, true
    from templates t
    join linked l on l.is_golden and l.manifest_actor = t.uid
)
select
    t.space || '/' || t.name as template,
    max(t.created) as created,
    max(t.from_data) as from_data,
    max(coalesce(l.record_content, nullif(l.content, 'unknown'))) as golden,
    bool_or(coalesce(g.is_told, false)) as has_golden,
    (
        select list(distinct sha256 order by sha256) from record_assets a
        where a.kind = 'template' and a.owner = t.space || '/' || t.name and a.sha256 is not null
    ) as assets
from templates t
left join golden g on g.space = t.space and g.name = t.name
left join linked l on l.source = g.source and l.snapshot = g.snapshot
group by t.space, t.name
order by template;
