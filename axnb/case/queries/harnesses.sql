-- Owners that the log names, in the order in which they first appear.
select harness_id
from owners
group by harness_id
order by min(source), min(first_row);
