-- What each generation reads from a row of the careful path. Parameter: $source.
insert into readings by name
select $source as source, * from careful_readings;
