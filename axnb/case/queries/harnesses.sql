-- Owners that the log names, in the order in which they first appear.
select harness_id
from event_rows
where harness_id is not null
group by harness_id
order by min(source), min("row");
