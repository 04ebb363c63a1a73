-- Some of the candidates with their texts. Parameters: $source, $first, $last.
select e."row", c.conversation_id, e.step, e.payload, e.digest
from odd_candidates o
join event_rows e on e.source = $source and e."row" = o."row"
join conversation_numbers c on c.source = $source and c.conversation = e.conversation
where o.n between $first and $last
order by o.n;
