-- Owners that the rows of a source name. Parameter: $source.
insert into owners
select source, harness_id, min("row")
from event_rows
where source = $source and harness_id is not null
group by source, harness_id;
