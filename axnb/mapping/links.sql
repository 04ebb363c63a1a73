-- The views of axnb/case/links.sql, computed once for all that read them.
create or replace temp table named as select * from named_snapshots;
create or replace temp table owners_told as select * from told_owners;
create or replace temp table linked as select * from snapshot_links;
