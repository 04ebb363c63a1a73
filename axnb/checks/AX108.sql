-- id: AX108
-- name: number-limit
-- severity: error
-- only with: high_numbers
--
-- A conversation has nearly used up its numbers: PostgreSQL keeps them in 32 bits, and so does AX up
-- to G6. At the limit AX goes on to answer its clients, logs nothing of it, and says so in its own
-- log only.
select
    r.source,
    n.conversation_id,
    r.last.step as step,
    format('step {} is {} 2147483647, the last number that PostgreSQL and AX up to G6 have.', r.last.step,
        case when r.last.step < 2147483647 then 'near' when r.last.step = 2147483647 then 'at' else 'beyond' end) as sentence,
    [witness_row(r.last.step, r.last.digest)] as witness
from (
    select source, conversation, arg_max(struct_pack(step := step, digest := digest), step) as last
    from log_rows
    where step > 2147483647 - 1000
    group by source, conversation
) r
join conversation_numbers n on n.source = r.source and n.conversation = r.conversation
