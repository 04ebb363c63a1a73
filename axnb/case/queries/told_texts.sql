-- Rows whose texts a client tells, by source.
select distinct source, "row" from told_texts order by source, "row";
