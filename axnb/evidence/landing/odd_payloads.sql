-- A chunk of the candidates with their texts; nothing is joined to these, which would keep them in
-- memory. Parameters: $source, $chunk.
select "row", conversation, step, payload, digest
from event_rows
where source = $source and "row" in (select "row" from odd_candidates where chunk = $chunk);
