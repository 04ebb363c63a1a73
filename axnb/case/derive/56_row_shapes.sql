-- What shapes the rows of a source have, and which fields. Parameter: $source.
insert into row_shapes
select
    $source,
    shape,
    harness_id is not null,
    config is not null,
    exec_id is not null,
    content_count > 0,
    count(*),
    min(conversation),
    max(conversation),
    arg_min(struct_pack(c := conversation, s := step, d := digest), "row")
from event_rows
where source = $source
group by all;
