-- How many different rows were landed. Parameter: $source.
select count(distinct "row")
from (
    select "row" from event_rows where source = $source
    union all
    select "row" from rejects where source = $source
);
