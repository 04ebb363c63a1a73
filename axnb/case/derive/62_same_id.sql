-- Rows of a turn that share a call id have to be compared, with the arguments of the calls among them.
-- Ids stand several times in a turn of tangled conversations only.
insert into wanted
with
tangled_marks as (
    select * from marks where conversation in (select conversation from tangled)
),
same_id as (
    select m.*
    from tangled_marks m
    join (
        select conversation, turn, kind, call_id
        from tangled_marks
        where call_id <> ''
        group by conversation, turn, kind, call_id
        having count(*) > 1
    ) g using (conversation, turn, kind, call_id)
)
select 'call', 0, "row", conversation, step, position, turn, cast(kind as varchar), call_id, tool
from same_id
union all
select 'id', part, "row", conversation, step, position, turn, cast(kind as varchar), call_id, tool
from same_id
where kind = 'tool_call';
