-- Put the digests in place that were found in `canonical_digests` (row, part, digest).
insert into compared by name
select t.*, d.digest as content
from to_compare t
left join canonical_digests d on d."row" = t."row" and d.part = t.part;
