-- What G8 calls the owner of a row.
create or replace temp macro owner() as 'agent';
create or replace temp macro owner_shape() as 'G8'::row_shape;
