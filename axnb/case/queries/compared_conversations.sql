-- Two conversations part by part, in order: what kind of part stands at each place, and whether both
-- say the same. Texts are compared, and not shown. Parameters: $left, $left_id, $right, $right_id
-- (source and conversation).
with
one as (
    select *, row_number() over (order by position, "row", part) as n
    from parts where source = $left and conversation_id = $left_id
),
other as (
    select *, row_number() over (order by position, "row", part) as n
    from parts where source = $right and conversation_id = $right_id
)
select
    coalesce(one.n, other.n) as n,
    one.step as left_step, one.kind as left_kind, one.tool as left_tool,
    other.step as right_step, other.kind as right_kind, other.tool as right_tool,
    one.kind is not distinct from other.kind
        and one."role" is not distinct from other."role"
        and one.tool is not distinct from other.tool as same_kind,
    coalesce(one."text", one.arguments, one.result, '') = coalesce(other."text", other.arguments, other.result, '') as same_text
from one
full join other on other.n = one.n
order by n
limit $limit offset $offset;
