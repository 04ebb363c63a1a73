-- id: AX106
-- name: double-append
-- severity: warning
-- empty without: compared
--
-- Two rows of a turn have different numbers, the same call id and the same content: the same event
-- was probably appended twice, as when an old writer's slow write and a new writer's both land, or
-- its harness sent it again while it streamed. Two equal texts without an id are no such thing: a
-- person may say the same twice. The witness is the first two of the rows.
with
numbered as (
    select
        source, conversation_id, turn, kind, call_id, content, step,
        min(tool) as tool, min(position) as position, arg_min(row_digest, "row") as row_digest
    from compared
    where why = 'call' and content is not null
    group by source, conversation_id, turn, kind, call_id, content, step
),
repeated as (
    select
        source, conversation_id, kind, call_id, min(tool) as tool, count(*) as times,
        arg_min(witness_row(step, row_digest), position, 2) as first_two
    from numbered
    group by source, conversation_id, turn, kind, call_id, content
    having count(*) > 1
)
select
    source,
    conversation_id,
    first_two[1].step as step,
    format('{} {} of {} is there {} times, {} steps {} and {}.',
        case kind when 'tool_call' then 'call' else 'result of call' end, short(call_id),
        case tool when '' then 'a tool' else short(tool) end, times, case times when 2 then 'at' else 'first at' end,
        first_two[1].step, first_two[2].step) as sentence,
    first_two as witness
from repeated
