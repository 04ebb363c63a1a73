-- id: AX106
-- name: double-append
-- severity: warning
--
-- Two rows of a turn have different numbers, the same call id and the same content: the same event
-- was probably appended twice, as when an old writer's slow write and a new writer's both land, or
-- its harness sent it again while it streamed. Two equal texts without an id are no such thing: a
-- person may say the same twice.
select
    source,
    conversation_id,
    min(step) as step,
    format('{} {} of {} is there {} times: at steps {}.', case kind when 'tool_call' then 'call' else 'result of call' end,
        short(call_id), case when min(tool) = '' then 'a tool' else short(min(tool)) end, count(*),
        array_to_string(list(step order by position, "row"), ', ')) as sentence,
    list(struct_pack(step := step, digest := lower(hex(row_digest))) order by position, "row") as witness
from compared
where why = 'call' and content is not null
group by source, conversation_id, turn, kind, call_id, content
having count(distinct step) > 1
