-- What turns ran with, from the fingerprints of their configurations and of their owners' names:
-- `context_parts` has a row for each part of each of them. Parameter: $source.
insert into contexts
select
    $source, n.conversation_id, c.turn, c.step, p.part, p.fingerprint, p.shown, 'row', c.harness_id
from configured c
join conversation_numbers n on n.source = $source and n.conversation = c.conversation
join context_parts p on p.kind = 'config' and p.text = c.config and p.is_base64 = c.is_base64
-- Other settings are told of the few turns for which anybody asks.
where p.part <> 'setting'
    or (n.conversation_id, c.turn) in (select (conversation_id, turn) from open_turns where source = $source)
union all
select
    $source, n.conversation_id, c.turn, c.step, p.part, p.fingerprint, p.shown, 'row', c.harness_id
from configured c
join conversation_numbers n on n.source = $source and n.conversation = c.conversation
join context_parts p on p.kind = 'harness' and p.text = c.harness_id;
