-- id: AX507
-- name: context-changed
-- severity: info
-- empty without: drifts
--
-- From one turn of the conversation to a later one, the configuration on the input row names another
-- model, or other tools or skills. A client may do that at any turn, and AX takes it without a word.
-- What the conversation did before was done by another model, or with other tools, than what came later.
select
    source, conversation_id, min(step) as step,
    format('the {} changed at step{} {}{}.',
        array_to_string(list_sort(list_distinct(flatten(list(parts)))), ' and the '),
        case when count(*) > 1 then 's' else '' end,
        array_to_string(list_sort(list(step))[:12], ', '),
        case when count(*) > 12 then ' and more' else '' end) as sentence,
    arg_min(witness_row(step, digest), step, 3) as witness
from (
    select source, conversation_id, step, any_value(digest) as digest, list(part) as parts
    from drifts
    where against = 'turn'
    group by source, conversation_id, step
)
group by source, conversation_id
