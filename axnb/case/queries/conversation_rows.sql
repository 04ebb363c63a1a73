-- The rows of one conversation in the order in which AX reads them. Parameters: $source, $id.
select e."row", e.step, e.position, e.state, t.turn, cast(null as varchar) as reason
from events e
join turns t on t.source = e.source and t.conversation_id = e.conversation_id
    and e.position between t.first_position and t.last_position
where e.source = $source and e.conversation_id = $id
union all
select "row", step, position, '', null, reason
from rejects
where source = $source and conversation_id = $id
order by position, "row";
