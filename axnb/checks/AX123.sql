-- id: AX123
-- name: too-large
-- severity: warning
-- only with: large_rows
--
-- A row is larger than what a gRPC message holds by default, 4 MiB: a client or a harness with that
-- limit cannot be sent it. Beyond 64 MiB axnb does not take a row apart, so nothing is known of it
-- but its key, its size and its digest.
with
-- Their texts are not carried through the join: they would fill the memory.
large as materialized (
    select source, conversation, step, digest, strlen(payload) as bytes
    from event_rows
    where strlen(payload) > 4 * 1048576
)
select
    e.source,
    n.conversation_id,
    e.step,
    format('the row has {:,} bytes; a gRPC message holds 4,194,304 by default.', e.bytes) as sentence,
    [witness_row(e.step, e.digest)] as witness
from large e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
union all
select source, conversation_id, step, sentence, witness
from rejected_rows
where reason = 'too large'
