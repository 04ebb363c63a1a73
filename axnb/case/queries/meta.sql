-- An entry of the case's own notes. Parameter: $name.
select value from meta where name = $name;
