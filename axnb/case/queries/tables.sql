-- The tables and views of the case, which people query by name, with about how many rows each has.
select table_name as name, 'table' as kind, estimated_size as "rows" from duckdb_tables() where not internal
union all
select view_name, 'view', null from duckdb_views() where not internal
order by name;
