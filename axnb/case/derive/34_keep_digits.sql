-- Put the digits in place that were found in `number_ids`.
update operation_ids set operation_id = n.id
from number_ids n
where n."row" = operation_ids."row" and n.part = operation_ids.part and n.path = operation_ids.path;
