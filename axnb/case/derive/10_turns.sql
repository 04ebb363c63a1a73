-- Turns: the rows after an end, up to and including the next one. What ends a turn is any state
-- that is neither PENDING nor UNSPECIFIED. Rejected rows count where their state could be read.
-- Parameter: $source.
-- Which row lies in which turn: a position can repeat where a table has no key, a row cannot.
create or replace temp table placed as
select
    *,
    cast(count(terminal) over (
        partition by conversation order by position, "row"
        rows between unbounded preceding and 1 preceding
    ) + 1 as integer) as turn
from (
    select
        conversation, step, position, "row",
        case when state > 1 then state end as terminal,
        state = 1 as pending
    from event_rows where source = $source
    union all
    select
        n.conversation, j.step, j.position, j."row",
        case when j.state > 1 then j.state end,
        coalesce(j.state = 1, false)
    from rejects j
    join conversation_numbers n on n.source = j.source and n.conversation_id = j.conversation_id
    where j.source = $source
);
insert into turns
with
bounds as (
    select
        conversation,
        turn,
        min(step) as first_step,
        max(step) as last_step,
        min(position) as first_position,
        max(position) as last_position,
        min(struct_pack(p := position, r := "row")).r as head_row,
        max(struct_pack(p := position, r := "row")).r as tail_row,
        max(terminal) as terminal,
        bool_or(pending) as pending
    from placed
    group by conversation, turn
),
-- What the first row of a turn says: an input row names its owner, or is a person's.
raw_turns as (
    select
        b.*,
        e.step as head_step,
        coalesce(cast(e.shape as varchar), j.shape) as head_shape,
        e.harness_id as head_harness,
        e.exec_id as head_exec,
        e.harness_id is not null
            or coalesce(e.part_role = 'user' and e.part_kind <> 'tool_result', false) as head_is_input
    from bounds b
    left join event_rows e on e.source = $source and e."row" = b.head_row
    left join rejects j on j.source = $source and j."row" = b.head_row
),
executed as (select distinct exec_id from executions where source = $source),
hinted as (
    select
        t.*,
        case
            -- G3 knows no owner, and G4 does not store a built-in one: that row was taken over.
            when head_shape = 'exec' then
                case
                    when head_harness in ('antigravity', 'antigravity-interactions') then 'G5b'
                    when head_harness is not null or e.exec_id is null then 'G4'
                    else 'G3'
                end
            when head_shape = 'G5' then
                case
                    when not head_is_input then null
                    when head_harness is null then 'G5'
                    when head_harness in ('antigravity', 'antigravity-interactions') then 'G5b'
                    else 'G5|G5b'
                end
            when head_shape in ('G6', 'G7', 'G8') then head_shape
        end as hint
    from raw_turns t left join executed e on e.exec_id = head_exec
),
-- What the log as a whole can tell: the only one of two generations that shows itself anywhere.
known as (
    select
        bool_or(hint = 'G5') as g5,
        bool_or(hint = 'G5b') as g5b,
        bool_or(hint = 'G7') as g7,
        bool_or(hint = 'G8') as g8
    from hinted
),
neighboured as (
    select
        *,
        last_value(hint ignore nulls) over (partition by conversation order by turn
            rows between unbounded preceding and 1 preceding) as earlier,
        first_value(hint ignore nulls) over (partition by conversation order by turn
            rows between 1 following and unbounded following) as later
    from hinted
)
select
    $source,
    conversation_id,
    turn,
    first_step,
    last_step,
    case when head_is_input then head_step end,
    first_position,
    last_position,
    case
        when terminal is not null then state_name(terminal)
        when pending then 'interrupted'
        else 'unspecified'
    end,
    case
        when hint = 'G5|G5b' and known.g5 and not known.g5b then 'G5'
        when hint = 'G5|G5b' and known.g5b and not known.g5 then 'G5b'
        when hint is not null then hint
        when head_shape = 'G5' then
            case
                when earlier in ('G5', 'G5b', 'G5|G5b') then earlier
                when later in ('G5', 'G5b', 'G5|G5b') then later
                when known.g5b and not known.g5 then 'G5b'
                when known.g5 and not known.g5b then 'G5'
                else 'G5|G5b'
            end
        when head_shape in ('steps', 'state') then
            case
                when earlier in ('G7', 'G8') then earlier
                when later in ('G7', 'G8') then later
                when known.g7 and not known.g8 then 'G7'
                else 'G8'
            end
        else coalesce(earlier, later, 'G8')
    end,
    head_harness,
    head_row,
    tail_row
from neighboured
join conversation_numbers n on n.source = $source and n.conversation = neighboured.conversation
cross join known;
