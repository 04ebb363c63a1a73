-- Rows at the same number of two logs that are written differently and may say the same.
select source, other, conversation_id, step, "row", other_row
from common_steps
where is_comparable and not is_same
order by source, other, "row";
