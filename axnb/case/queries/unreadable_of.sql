-- How many rows of two conversations cannot be read. Parameters: $left, $left_id, $right, $right_id
-- (source and conversation).
select
    count(*) filter (source = $left and conversation_id = $left_id) as "left",
    count(*) filter (source = $right and conversation_id = $right_id) as "right"
from rejects;
