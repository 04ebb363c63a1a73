-- Two conversations part by part, in order: what kind of part stands at each place, and whether both
-- say the same; each row also tells of all places how many there are (`total`), and how many say the
-- same (`alike`). Texts are compared, and not shown. Parameters: $left, $left_id, $right, $right_id
-- (source and conversation), $limit, $offset.
with
one as (
    select *, row_number() over (order by position, "row", part) as n
    from parts where source = $left and conversation_id = $left_id
),
other as (
    select *, row_number() over (order by position, "row", part) as n
    from parts where source = $right and conversation_id = $right_id
),
compared as (
    select
        coalesce(one.n, other.n) as n,
        one.step as left_step, one.kind as left_kind, one.tool as left_tool,
        other.step as right_step, other.kind as right_kind, other.tool as right_tool,
        one.kind is not distinct from other.kind
            and one."role" is not distinct from other."role"
            and one.tool is not distinct from other.tool
            and one.decision is not distinct from other.decision
            and coalesce(one.is_error, false) = coalesce(other.is_error, false) as same_kind,
        coalesce(one."text", one.arguments, one.result, '')
            = coalesce(other."text", other.arguments, other.result, '') as same_text
    from one
    full join other on other.n = one.n
)
select *, count(*) over () as total, count(*) filter (same_kind and same_text) over () as alike
from compared
order by n
limit $limit offset $offset;
