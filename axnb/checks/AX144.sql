-- id: AX144
-- name: owner-changed
-- severity: warning
-- only with: several_harnesses
--
-- Rows of one conversation name different harnesses as its owner. AX refuses such a change, so one
-- of them was written by a generation that does not see the other's name, or by hand. The history
-- of the earlier harness is not the later one's.
select
    r.source,
    n.conversation_id,
    list_extract(list(r.named.step order by r.named.position), 2) as step,
    format('{} harnesses own the conversation, one after the other: {}.', count(*),
        array_to_string(list(short(r.harness_id) order by r.named.position), ', ')) as sentence,
    list(witness_row(r.named.step, r.named.digest) order by r.named.position) as witness
from (
    select source, conversation, harness_id,
        arg_min(struct_pack(step := step, position := position, digest := digest), position) as named
    from event_rows
    where harness_id is not null
    group by source, conversation, harness_id
) r
join conversation_numbers n on n.source = r.source and n.conversation = r.conversation
group by r.source, n.conversation_id
having count(*) > 1
