-- id: AX125
-- name: nul-escape
-- severity: info
-- empty without: oddities
--
-- A text holds the character U+0000. AX and JSON have no quarrel with it; PostgreSQL's jsonb refuses
-- it, C programs end the text there, and some readers show six characters in its place. Compare and
-- migrate such rows as text, never through jsonb.
select source, conversation_id, step, format('a text holds U+0000 at {}; it cannot move to jsonb.', path) as sentence, witness
from odd_rows
where kind = 'nul-escape'
