-- Take rows that the fast path refused out of `events` into the temp table `refused`: those that
-- look like the other family of content ($family: messages or steps), or all of them (empty).
-- Parameters: $source, $family. Returns how many.
create or replace temp table refused as
select "row", conversation_id, step, position, payload, row_number() over () as n
from events
where source = $source and route = 'careful'
    and case $family
        when 'messages' then contains(payload, '"messages":') or contains(payload, '"step":')
        when 'steps' then not (contains(payload, '"messages":') or contains(payload, '"step":'))
        else true
    end;
delete from events
where source = $source and route = 'careful' and "row" in (select "row" from refused);
select count(*) from refused;
