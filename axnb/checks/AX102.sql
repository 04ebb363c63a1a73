-- id: AX102
-- name: missing-head
-- severity: error
-- only with: late_beginnings
--
-- The numbers of a conversation begin above 1. AX begins every conversation at 1, so its
-- beginning was there and is gone: trimmed, deleted, or left behind by a copy. Rows below 1 are not
-- AX's own (AX115) and take no number's place.
select
    r.source,
    n.conversation_id,
    r.first.step as step,
    case
        when r.first.step = 2 then 'step 1 is missing: the conversation begins at step 2.'
        else format('steps 1 to {} are missing: the conversation begins at step {}.', r.first.step - 1, r.first.step)
    end as sentence,
    [witness_row(r.first.step, r.first.digest)] as witness
from (
    select source, conversation, arg_min(struct_pack(step := step, digest := digest), step) as first
    from log_rows
    where step >= 1
    group by source, conversation
    having min(step) > 1
) r
join conversation_numbers n on n.source = r.source and n.conversation = r.conversation
