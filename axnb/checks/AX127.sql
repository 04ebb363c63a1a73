-- id: AX127
-- name: duplicate-key
-- severity: warning
--
-- A key stands twice in one object. Parsers disagree which value counts: the first, the last, or
-- neither. AX refuses the row, and with it the conversation, unless it drops the whole object
-- without a look; then other programs read what AX does not.
select
    source,
    conversation_id,
    step,
    format('row {} cannot be read: {}{}.', "row", reason, case when detail <> '' then ' (' || detail || ')' else '' end) as sentence,
    [struct_pack(step := step, digest := lower(hex(digest)))] as witness
from rejects
where reason = 'duplicate key'
union all
select
    source,
    conversation_id,
    step,
    format('an object holds a key twice, and AX drops it unread: {}.', path) as sentence,
    [struct_pack(step := step, digest := lower(hex(digest)))] as witness
from oddities
where kind = 'duplicate-key'
