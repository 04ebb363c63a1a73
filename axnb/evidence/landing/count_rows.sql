-- Rows that were landed, and how many different ones. Parameter: $source.
select count(*), count(distinct "row")
from (
    select "row" from event_rows where source = $source
    union all
    select "row" from rejects where source = $source
);
