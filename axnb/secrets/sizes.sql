-- How many texts of a log there are, with their bytes, and the longest one. Parameter: $source.
select 'payload' as held, count(*), coalesce(sum(strlen(payload)), 0)::bigint, coalesce(max(strlen(payload)), 0)
from event_rows
where source = $source
union all
select 'config', count(config), coalesce(sum(strlen(config)), 0)::bigint, coalesce(max(strlen(config)), 0)
from event_rows
where source = $source
union all
select 'raw', count(raw), coalesce(sum(octet_length(raw)), 0)::bigint, coalesce(max(octet_length(raw)), 0)
from rejects
where source = $source
