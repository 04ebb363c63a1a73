-- Keep what the checks found, of which checks it is, and the seed of the digests' key. Parameters:
-- $checks, $key; `found` (temp).
delete from findings;
insert into findings select * from found;
insert or replace into meta values ('findings', $checks), ('digest key', $key);
