-- Rows of the careful path that do not decode, or whose key cannot be read. Parameter: $source.
insert into rejects by name
select $source as source, * from careful_rejects;
