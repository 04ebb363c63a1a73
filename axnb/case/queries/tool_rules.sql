-- What the settings said of tools when the logs were loaded.
select distinct tool, path as operation_id, consequential
from tool_rules
order by tool, path nulls first, consequential;
