-- The tools that a turn called: it had them, and may have had others. Parameter: $source.
insert into contexts
select $source, c.conversation_id, c.turn, c.step, 'tools', p.fingerprint, p.shown, 'rows', null
from called c
join called_parts p on p.tools = c.tools;
