-- id: AX106
-- name: double-append
-- severity: warning
--
-- Two rows of a turn have different numbers, the same call id and the same content: the same event
-- was probably appended twice, as when an old writer's slow write and a new writer's both land, or
-- its harness sent it again while it streamed. Two equal texts without an id are no such thing: a
-- person may say the same twice.
select
    c.source,
    n.conversation_id,
    list_min(list(c.step)) as step,
    format('{} {} of {} is there {} times: at steps {}.', case c.kind when 'tool_call' then 'call' else 'result of call' end,
        c.call_id, case when min(c.tool) = '' then 'a tool' else min(c.tool) end, count(*),
        array_to_string(list(c.step order by c.position, c."row"), ', ')) as sentence,
    list(struct_pack(step := c.step, digest := lower(hex(c.row_digest))) order by c.position, c."row") as witness
from compared_calls c
join conversation_numbers n on n.source = c.source and n.conversation = c.conversation
where c.content is not null
group by c.source, n.conversation_id, c.turn, c.kind, c.call_id, c.content
having count(distinct c.step) > 1
