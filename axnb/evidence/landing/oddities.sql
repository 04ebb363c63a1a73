-- What is odd about rows that AX decodes. Parameter: $source.
insert into oddities by name
select $source as source, * from found_oddities;
