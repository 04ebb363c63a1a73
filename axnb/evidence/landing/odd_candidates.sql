-- Rows of the fast path that may have something odd in them: a NUL, a number beyond 2^53, or another
-- id or number than their key. Most rows that AX wrote begin with their key, and none of them is
-- looked at again. Large rows always are: carried through a join they would fill the memory.
-- A chunk has 2,000 rows and 16 MiB at most, or one row. Parameter: $source.
create or replace temp table odd_candidates as
with
-- How AX begins a row: with its conversation, and up to G6 with its number.
keyed as (
    select e."row", e.payload, e.state, e.config, e.part_kind, e.shape,
        '{"conversation_id":"' || c.conversation_id || '"' as id,
        '"' || case e.shape when 'G6' then 'step' else 'seq' end || '":' || e.step || ',' as number
    from event_rows e
    join conversation_numbers c on c.source = e.source and c.conversation = e.conversation
    where e.source = $source and e.fast and strlen(e.payload) <= 65536
),
candidates as (
    select "row", strlen(payload) as bytes
    from keyed
    where contains(payload, '\u0000')
        or state = 0
        or (part_kind in ('tool_call', 'tool_result') or config is not null)
            and regexp_matches(payload, '[:,\[\s]-?[0-9.]+([eE]|[0-9]{12})')
        or not starts_with(payload, id)
        or shape in ('exec', 'G5', 'G6')
            and not (starts_with(payload, id || ',' || number) or starts_with(payload, id || ', ' || number))
    union all
    select "row", strlen(payload)
    from event_rows
    where source = $source and fast and strlen(payload) > 65536
)
select
    "row",
    row_number() over up_to_here // 2000 + coalesce(sum(bytes) over up_to_here, 0) // 16777216 as chunk
from candidates
window up_to_here as (order by "row" rows between unbounded preceding and current row);
