-- Rows of a log that say something else in its copy, or are not there, and rows that only the copy
-- has. The copy may be in another generation's words. What is read is what each row's own generation
-- decodes; a row that it cannot decode is compared by its bytes. Whatever is the same here says the
-- same; what is not must still be looked at: numbers can be written in several ways.
-- Parameters: $source, $other, $ids of the conversations that are looked at ('' for rows whose
-- conversation cannot be told).
with
chosen as (
    select source, conversation, conversation_id
    from conversation_numbers
    where source in ($source, $other) and conversation_id in (select unnest($ids::varchar[]))
),
looked as (
    select c.conversation_id, e.source, e."row", e.step, e.state, e.harness_id, e.config, e.digest
    from event_rows e
    join chosen c on c.source = e.source and c.conversation = e.conversation
),
told as (
    select
        p.source, p."row",
        md5(cast(list(struct_pack(
            kind := p.kind,
            -- Steps have no roles for these; what they are follows from their kind.
            "role" := case
                when p.kind in ('thought', 'tool_call') then coalesce(nullif(p."role", ''), 'model')
                when p.kind = 'tool_result' then coalesce(nullif(p."role", ''), 'user')
                else coalesce(p."role", '')
            end,
            call_id := coalesce(p.call_id, ''),
            tool := coalesce(p.tool, ''),
            is_error := coalesce(p.is_error, false),
            decision := coalesce(p.decision, ''),
            "value" := coalesce(p."text", p.arguments, p.result)
        ) order by p.part) as varchar)) as parts
    from parts p
    semi join looked l on l.source = p.source and l."row" = p."row"
    group by p.source, p."row"
),
every as (
    select
        l.source, l.conversation_id, l.step, l."row", l.digest, true as is_read,
        md5(cast(struct_pack(
            state := l.state,
            owner := coalesce(l.harness_id, ''),
            config := coalesce(l.config, ''),
            parts := coalesce(t.parts, '')
        ) as varchar)) as said
    from looked l
    left join told t on t.source = l.source and t."row" = l."row"
    union all
    select source, coalesce(conversation_id, ''), step, "row", digest, false, null
    from rejects
    where source in ($source, $other)
        and coalesce(conversation_id, '') in (select unnest($ids::varchar[]))
),
-- Several rows can stand at one number where a table has no key.
numbered as (
    select *, row_number() over (partition by source, conversation_id, step order by "row") as nth
    from every
),
otherwise as (
    select
        coalesce(a.conversation_id, b.conversation_id) as conversation_id,
        coalesce(a.step, b.step) as step,
        a."row" as "row",
        b."row" as other_row,
        coalesce(a.is_read and b.is_read, false) as is_read
    from (select * from numbered where source = $source) a
    full join (select * from numbered where source = $other) b
        on a.conversation_id = b.conversation_id
        and a.step is not distinct from b.step
        and a.nth = b.nth
    where a."row" is null or b."row" is null
        or a.digest is distinct from b.digest and (a.said is null or a.said is distinct from b.said)
)
select
    o.conversation_id,
    o.step,
    o."row" is not null as is_there,
    o.other_row is not null as is_copied,
    a.payload,
    b.payload as copy
from otherwise o
left join event_rows a on o.is_read and a.source = $source and a."row" = o."row"
left join event_rows b on o.is_read and b.source = $other and b."row" = o.other_row
order by 1, 2, o."row", o.other_row;
