-- Something that whoever has a log can compute, and nobody else. Parameter: $source.
select bit_xor(md5_number(hex(digest))) as mixed, count(*) as rows_read
from (
    select digest from event_rows where source = $source
    union all
    select digest from rejects where source = $source and digest is not null
)
