-- Calls and entries, the worst first, with a digest of each side. Parameters: $most, and
-- $classes from the worst to the best.
with
everything as (
    select
        source, call_row, part, call, effect, class, how, consequential, is_open
    from calls_judged
    union all
    select null, null, null, null, effect, 'no-call-in-log', 'nothing', true, true
    from entries_judged
),
listed as (
    select
        *,
        list_position($classes, class) as badness
    from everything
    order by badness, not is_open, not consequential, source, call_row, part, effect
    limit $most
)
select
    coalesce(c.tool, e.tool), coalesce(c.operation_id, e.operation_id), j.class, j.how,
    coalesce(c.conversation_id, e.conversation_id), c.source, c.call_step,
    case when c.is_cancelled and c.outcome <> 'completed' then 'cancelled' else c.outcome end,
    lower(hex(v.digest)), l.ledger, l.entry, coalesce(e.status, ''), lower(hex(e.digest)),
    j.consequential
from listed j
left join asked_calls c on c.rowid = j.call
left join event_rows v on v.source = c.source and v."row" = c.call_row
left join ledger_entries l on l.effect = j.effect
left join effects e on e.source = l.ledger and e."row" = l.entry
order by
    badness, not j.is_open, not j.consequential, j.source, j.call_row, j.part, j.effect;
