-- What has to be compared, with the digests of its rows. Parameter: $source.
insert into to_compare
with digests as (
    select "row", digest from log_rows
    where source = $source and "row" in (select "row" from wanted)
)
select
    $source, w.why, w."row", w.part, n.conversation_id, w.step, w.position, w.turn, w.kind,
    w.call_id, w.tool, d.digest
from wanted w
join conversation_numbers n on n.source = $source and n.conversation = w.conversation
left join digests d on d."row" = w."row";
