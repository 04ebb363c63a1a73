-- id: AX109
-- name: long-history
-- severity: warning
--
-- AX reads all rows of a conversation before each request, and some harnesses get all of them. From
-- 10,000 rows or 16 MiB on this takes seconds, and a request may end before it begins. Close the
-- conversation and go on in a new one before that happens.
select
    r.source,
    n.conversation_id,
    r.last.step as step,
    format('the conversation has {} rows and {} MiB, which AX reads before every request.', r.rows, r.bytes // 1048576) as sentence,
    [struct_pack(step := r.last.step, digest := lower(hex(r.last.digest)))] as witness
from (
    select source, conversation, count(*) as rows, cast(sum(strlen(payload)) as bigint) as bytes,
        arg_max(struct_pack(step := step, digest := digest), struct_pack(p := position, r := "row")) as last
    from event_rows
    group by source, conversation
) r
join conversation_numbers n on n.source = r.source and n.conversation = r.conversation
where rows >= 10000 or bytes >= 16 * 1048576
