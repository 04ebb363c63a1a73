-- Of each conversation of two logs: how many rows are the same by their text, how many others say the
-- same, how many say something else, of how many that is unknown, and how many are in one log only; and
-- the first steps of each kind. `said` (is_left, row, digest) is registered: what the rows in
-- `to_digest` say. Parameter: $most (steps of a kind).
with
contents as (
    select
        u.conversation_id, u.step, u.visible, coalesce(l.digest, r.digest) as content,
        sum(u.n_left) as n_left, sum(u.n_right) as n_right
    from unlike_texts u
    left join said l on l.is_left and l."row" = u.row_left and u.n_left > 0
    left join said r on not r.is_left and r."row" = u.row_right and u.n_right > 0
    group by all
),
numbers as (
    select
        conversation_id, step,
        coalesce(sum(least(n_left, n_right)) filter (content is not null), 0) as respelled,
        sum(n_left) - respelled as left_over,
        sum(n_right) - respelled as right_over,
        least(left_over, right_over) as facing,
        -- Rows that face each other, one of which has no canonical form.
        least(facing, coalesce(sum(n_left + n_right) filter (content is null), 0)) as unknown,
        facing - unknown as different,
        left_over - facing as only_left,
        right_over - facing as only_right
    from contents
    group by conversation_id, step, visible
),
told as (
    select
        conversation_id,
        sum(respelled)::bigint as respelled,
        sum(different)::bigint as different,
        sum(unknown)::bigint as unknown,
        sum(only_left)::bigint as only_left,
        sum(only_right)::bigint as only_right,
        min(step, $most) filter (different > 0) as different_steps,
        min(step, $most) filter (unknown > 0) as unknown_steps,
        min(step, $most) filter (only_left > 0) as only_left_steps,
        min(step, $most) filter (only_right > 0) as only_right_steps
    from numbers
    group by conversation_id
)
select
    s.conversation_id, s.same_text, coalesce(t.respelled, 0) as respelled,
    coalesce(t.different, 0) as different, coalesce(t.unknown, 0) as unknown,
    coalesce(t.only_left, 0) as only_left, coalesce(t.only_right, 0) as only_right,
    coalesce(t.different_steps, []) as different_steps,
    coalesce(t.unknown_steps, []) as unknown_steps,
    coalesce(t.only_left_steps, []) as only_left_steps,
    coalesce(t.only_right_steps, []) as only_right_steps
from same_texts s
left join told t on t.conversation_id is not distinct from s.conversation_id
order by s.conversation_id;
