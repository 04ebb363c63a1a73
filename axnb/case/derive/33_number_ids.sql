-- Operation ids whose digits must be taken from the arguments as they stand.
select "row", part, path, arguments from operation_ids where arguments is not null;
