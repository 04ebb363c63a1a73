-- Tools that a turn called: it had them, and may have had others. A name that JSON would escape is told
-- by no row. Parameter: $source.
insert into contexts
select
    $source, conversation_id, turn, min(call_step), 'tool', sha256('"' || tool || '"'), short(tool), 'rows', null
from tool_calls
where source = $source and not regexp_matches(tool, '^$|["\\\x00-\x1F]')
group by conversation_id, turn, tool;
