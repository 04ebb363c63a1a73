-- Results that pairing in Python left without a call. Parameters: $source; `unclaimed` (temp).
insert into orphan_results
select $source, n.conversation_id, u.turn, u.step, u.position, u.part, u.call_id, u.tool, u."row"
from unclaimed u
join conversation_numbers n on n.source = $source and n.conversation = u.conversation;
