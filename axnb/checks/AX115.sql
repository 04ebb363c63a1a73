-- id: AX115
-- name: number-below-one
-- severity: warning
-- only with: low_numbers
--
-- A row has a number below 1. AX reads it as the first of its conversation, and never wrote it:
-- its own numbers begin at 1.
select
    r.source,
    n.conversation_id,
    r.step,
    format('step {} is below 1, where AX''s own numbers begin.', r.step) as sentence,
    [witness_row(r.step, r.digest)] as witness
from log_rows r
join conversation_numbers n on n.source = r.source and n.conversation = r.conversation
where r.step < 1
