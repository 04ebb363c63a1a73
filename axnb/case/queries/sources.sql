-- What was loaded, logs first, with the generations that their conversations show.
select
    s.source as name,
    s.kind,
    s.locator,
    s.step_column as "column",
    s.variant,
    s.read,
    s.parsed,
    s.rejected,
    s.scope,
    s.custody,
    s.notes,
    s.incomplete,
    coalesce(g.generations, []) as generations
from sources s
left join (
    select source, list(distinct generation) as generations
    from (select source, unnest(generations) as generation from conversations)
    group by source
) g on g.source = s.source
order by s.kind <> 'eventlog', s.source;
