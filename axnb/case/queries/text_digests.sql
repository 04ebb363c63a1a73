-- Digests of the texts of some rows. A row may hold several texts, of which a client may tell each, or
-- all in one. Parameters: $source, $rows, and $first and $last of them: a filter and no join, so that
-- only these rows are taken apart.
with texts as (
    select source, "row", part, "text" from parts
    where source = $source and "text" is not null
        and "row" between $first and $last and list_contains(cast($rows as bigint[]), "row")
)
select source, "row", sha256("text") as digest from texts
union all
select source, "row", sha256(string_agg("text", '' order by part)) from texts group by source, "row";
