-- id: AX123
-- name: too-large
-- severity: warning
--
-- A row is larger than what a gRPC message holds by default, 4 MiB: a client or a harness with that
-- limit cannot be sent it. Beyond 64 MiB axnb does not take a row apart, so nothing is known of it
-- but its key, its size and its digest.
select
    e.source,
    n.conversation_id,
    e.step,
    format('the row has {:,} bytes; a gRPC message holds 4,194,304 by default.', strlen(e.payload)) as sentence,
    [struct_pack(step := e.step, digest := lower(hex(e.digest)))] as witness
from event_rows e
join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
where strlen(e.payload) > 4 * 1048576
union all
select
    source,
    conversation_id,
    step,
    format('row {} cannot be read: {} ({}).', "row", reason, detail) as sentence,
    [struct_pack(step := step, digest := lower(hex(digest)))] as witness
from rejects
where reason = 'too large'
