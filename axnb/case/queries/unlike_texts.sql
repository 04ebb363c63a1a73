-- Rows of two logs that are not the same by their text. Parameters: $left, $right (sources).
-- Each text at a number of a conversation: how often it stands there, and its first row, in each log.
-- A row that AX's own query does not find is another one than a row that it finds.
create or replace temp table texts_at_steps as
with log_texts as (
    select e.source = $left as is_left, n.conversation_id, e.step, e.visible, e.digest, e."row"
    from event_rows e
    join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
    where e.source in ($left, $right)
    union all
    select source = $left, conversation_id, step, visible, digest, "row"
    from rejects
    where source in ($left, $right)
)
select
    conversation_id, step, visible, digest,
    count(*) filter (is_left) as n_left,
    count(*) filter (not is_left) as n_right,
    min("row") filter (is_left) as row_left,
    min("row") filter (not is_left) as row_right,
    -- A text that could not be read is the same as none.
    case when digest is null then 0 else least(n_left, n_right) end as n_same
from log_texts
group by conversation_id, step, visible, digest;

create or replace temp table same_texts as
select conversation_id, sum(n_same)::bigint as same_text from texts_at_steps group by conversation_id;

create or replace temp table unlike_texts as
select * exclude (n_left, n_right, n_same), n_left - n_same as n_left, n_right - n_same as n_right
from texts_at_steps
where n_left > n_same or n_right > n_same;

drop table texts_at_steps;

-- What they say has to be known where both logs have other texts at a number.
create or replace temp table to_digest as
with
facing as (
    select conversation_id, step, visible
    from unlike_texts
    group by all
    having sum(n_left) > 0 and sum(n_right) > 0
),
faced as (
    select u.*
    from unlike_texts u
    join facing f on f.conversation_id is not distinct from u.conversation_id
        and f.step is not distinct from u.step and f.visible = u.visible
)
select $left as source, row_left as "row" from faced where n_left > 0
union all
select $right, row_right from faced where n_right > 0;
