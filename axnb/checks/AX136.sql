-- id: AX136
-- name: unknown-content
-- severity: warning
-- empty without: careful_parts
--
-- A part of a row is of a kind that the row's own generation has no name for. AX reads the row and
-- drops the part without a word. The other parts and rows are as they were; a newer AX, or a fork of
-- it, wrote this one.
select
    p.source,
    p.conversation_id,
    p.step,
    format('part {} is of a kind that AX does not know and drops.', p.part) as sentence,
    [witness_row(p.step, e.digest)] as witness
from careful_parts p
join event_rows e on e.source = p.source and e."row" = p."row"
where p.kind = 'unknown'
