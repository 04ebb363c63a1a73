-- id: AX134
-- name: unreadable-key
-- severity: warning
-- empty without: rejects
--
-- The key of a row says no conversation or no number: it is NULL, no text, or no whole number. AX
-- does not find the row under its conversation, or reads it at a place that no number tells.
select
    source,
    conversation_id,
    step,
    format('row {} has a key that cannot be read: {} ({}).', "row", detail, key_text) as sentence,
    [witness_row(step, digest)] as witness
from rejects
where reason in ('unreadable key', 'unreadable step')
