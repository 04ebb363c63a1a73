-- What G7 calls the owner of a row.
create or replace temp macro owner() as 'harness';
create or replace temp macro owner_shape() as 'G7'::row_shape;
