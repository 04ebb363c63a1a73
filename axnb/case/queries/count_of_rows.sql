-- How many lines `chosen_rows` has, at most $most: nobody counts further. Parameters: those of
-- chosen_rows, $most.
select count(*) as n
from (select 1 from chosen_rows($source, $within, $state, $kind, $tool, $lowest, $highest) limit $most);
