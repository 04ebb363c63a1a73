-- Every row of one conversation in the order in which AX reads it, with what it holds, a line a
-- part; a row without content has one line. Parameters: $source, $id.
select e.step, e.state, e.harness_id, lower(hex(e.digest)) as digest, p.kind, p."role", p.call_id, p.tool,
    coalesce(p."text", p.arguments, p.result) as "value", p.decision
from events e
left join parts p on p.source = e.source and p."row" = e."row"
where e.source = $source and e.conversation_id = $id
order by e.position, e."row", p.part;
