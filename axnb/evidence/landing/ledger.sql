-- What an operator says of a ledger. Parameters: those named below.
insert into ledgers by name
select
    $source as source,
    cast($tools as varchar[]) as tools,
    cast($covers_from as timestamp) as covers_from,
    cast($covers_to as timestamp) as covers_to,
    cast($lag as interval) as lag,
    $has_conversation as has_conversation,
    $has_time as has_time,
    cast($compared as varchar[]) as compared,
    cast($paths as varchar[]) as paths,
    $has_business_key as has_business_key;
