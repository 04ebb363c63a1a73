-- What is to be compared, pair by pair.
select call, effect, arguments, paths, texts from to_compare_arguments;
