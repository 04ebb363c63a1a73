-- The rows of a log by conversation, in AX's order: what each holds, and the digest of its text.
-- Parameter: $source.
select
    n.conversation_id,
    l.step,
    lower(hex(l.digest)) as digest,
    state_name(e.state) as state,
    cast(e.part_kind as varchar) as kind
from log_rows l
join conversation_numbers n on n.source = l.source and n.conversation = l.conversation
left join event_rows e on e.source = l.source and e."row" = l."row"
where l.source = $source
order by n.conversation_id, l.position;
