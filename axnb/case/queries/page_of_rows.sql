-- A page of `chosen_rows`, after a row and part. Parameters: those of chosen_rows, $after_row,
-- $after_part, $limit.
select *
from chosen_rows($source, $within, $state, $kind, $tool, $lowest, $highest)
where "row" > $after_row or ("row" = $after_row and part > $after_part)
order by "row", part
limit $limit;
