-- The different configurations of a source, and the owners that its rows name. Parameter: $source.
select distinct case when shape = 'exec' then 'base64' else 'json' end, config
from event_rows
where source = $source and config is not null
union all
select 'owner', harness_id from owners where source = $source
