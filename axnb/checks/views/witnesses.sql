-- What stands beside a log, for the checks that hold the log against it. `asked_answers` is
-- registered; what is asked about stands in the tables of `asked.sql`.
-- Those that no log holds, though one was read in which it would stand.
create or replace temp table absent as
select conversation_id, arg_min(source, struct_pack(r := rank, s := source)) as source
from claims
where conversation_id in (select conversation_id from asked_ids)
    and conversation_id not in (select conversation_id from conversations)
    and exists (
        select * from sources
        where kind = 'eventlog' and (scope is null or scope = claims.conversation_id)
    )
group by conversation_id;

-- What a check may find something about: a conversation of a log, or one that is in none, in the
-- name of the witness.
create or replace temp table subjects as
select source, conversation_id, true as logged from asked_answers
union all
select source, conversation_id, false from absent;

-- Rows of conversations that two logs hold.
create or replace temp table shared_rows as
with shared as (
    select conversation_id from conversation_numbers
    where conversation_id in (select conversation_id from asked_ids)
    group by conversation_id having count(distinct source) > 1
)
select n.source, n.conversation_id, e.step, e."row", e.digest, cast(e.shape as varchar) as shape
from shared h
join conversation_numbers n on n.conversation_id = h.conversation_id
join event_rows e on e.source = n.source and e.conversation = n.conversation
where e.visible and e.step is not null
union all
-- A row that cannot be read is the same as another only by its text.
select j.source, j.conversation_id, j.step, j."row", j.digest, null
from rejects j
join shared h on h.conversation_id = j.conversation_id
where j.visible and j.step is not null;

-- The numbers that both logs have. Rows of different generations say the same in other keys, so
-- their texts do not tell whether they are the same.
create or replace temp table common_steps as
select
    a.source,
    b.source as other,
    a.conversation_id,
    a.step,
    coalesce(bool_or(a.digest = b.digest), false) as is_same,
    coalesce(bool_or(a.shape = b.shape), false) as is_comparable,
    min(a."row") as "row",
    min(b."row") as other_row
from shared_rows a
join shared_rows b on b.conversation_id = a.conversation_id and b.step = a.step and b.source > a.source
group by all;

-- Texts that a client was sent, and the rows in which they should stand.
create or replace temp table told_texts as
select a.source, a.conversation_id, e.step, e."row", o.source as client, o.digest
from client_outputs o
join asked_answers a on a.conversation_id = o.conversation_id
join conversation_numbers n on n.source = a.source and n.conversation_id = a.conversation_id
join event_rows e on e.source = n.source and e.conversation = n.conversation and e.step = o.number
where o.digest is not null and o.kind in ('text', 'thought') and e.visible;
