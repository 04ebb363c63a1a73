-- In place of the form in macros.sql: the leaves are NULL where a row is no JSON.
create or replace temp macro leaves_of(document, paths) as try(json_extract(document, paths));
