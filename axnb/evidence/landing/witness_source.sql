-- A file of lines as a source. Parameters: those named below.
insert into sources by name
select
    $source as source,
    $kind as kind,
    $locator as locator,
    $read as read,
    $parsed as parsed,
    $rejected as rejected,
    0 as executions_read,
    0 as executions_rejected,
    cast($custody as json) as custody,
    cast($notes as varchar[]) as notes,
    cast($incomplete as varchar[]) as incomplete;
