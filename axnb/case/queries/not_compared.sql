-- How many rows of two logs stand at the same number and could not be compared.
select source, other, sum(skipped)::bigint as rows_skipped
from copies
where source < other
group by source, other
having rows_skipped > 0
order by source, other;
