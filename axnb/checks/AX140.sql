-- id: AX140
-- name: mixed-generations
-- severity: warning
--
-- The log holds rows of several generations of AX: a server was upgraded, or rolled back, without a
-- migration. No generation reads all of another's rows as they were meant.
select
    source,
    null as conversation_id,
    null as step,
    format('the log holds rows of {}.', array_to_string(list_sort(list(distinct generation)), ', ')) as sentence,
    [] as witness
from turns
group by source
having count(distinct generation) > 1
