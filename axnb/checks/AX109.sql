-- id: AX109
-- name: long-history
-- severity: warning
-- only with: much_content
--
-- AX reads all rows of a conversation before each request, and some harnesses get all of them. From
-- 10,000 rows or 16 MiB on this takes seconds, and a request may end before it begins. Close the
-- conversation and go on in a new one before that happens.
with
long_ones as (
    select source, conversation, count(*) as rows, cast(sum(strlen(payload)) as bigint) as bytes,
        max(position) as last_position
    from event_rows
    group by source, conversation
    having count(*) >= 10000 or sum(strlen(payload)) >= 16 * 1048576
)
select
    l.source,
    n.conversation_id,
    arg_max(e.step, e."row") as step,
    format('the conversation has {} rows and {} MiB, which AX reads before every request.', l.rows, l.bytes // 1048576) as sentence,
    [arg_max(witness_row(e.step, e.digest), e."row")] as witness
from long_ones l
join conversation_numbers n on n.source = l.source and n.conversation = l.conversation
join event_rows e on e.source = l.source and e.conversation = l.conversation and e.position = l.last_position
group by l.source, n.conversation_id, l.rows, l.bytes
