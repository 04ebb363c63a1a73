-- The arguments of the calls in `to_compare` (temp). Parameter: $source.
select "row", part, arguments
from parts
where source = $source and kind = 'tool_call'
    and "row" in (select "row" from to_compare where part > 0);
