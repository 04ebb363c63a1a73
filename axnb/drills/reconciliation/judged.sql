-- Calls and entries, the worst first, with a digest of each side. Parameter: $most.
select
    j.tool, j.operation_id, j.class, j.how, j.conversation_id, j.source, j.call_step, j.outcome,
    lower(hex(v.digest)) as call_digest,
    j.ledger, j.entry, coalesce(e.status, '') as status, lower(hex(e.digest)) as entry_digest,
    j.consequential
from (
    select
        tool, operation_id, class, how, conversation_id, source, call_step, outcome, ledger, entry,
        consequential, call_row
    from calls_judged
    union all
    select
        tool, operation_id, 'no-call-in-log', 'nothing', conversation_id, null, null, null, ledger,
        entry, true, null
    from entries_judged
) j
left join event_rows v on v.source = j.source and v."row" = j.call_row
left join effects e on e.source = j.ledger and e."row" = j.entry
order by
    list_position(
        [
            'duplicated', 'cancelled-committed', 'no-call-in-log', 'arguments-differ', 'result-lost',
            'reversed', 'not-executed', 'ambiguous-number', 'ambiguous', 'not-covered', 'no-ledger',
            'matched'
        ],
        j.class
    ),
    not j.consequential, j.tool, j.conversation_id, j.source, j.call_step, j.call_row, j.ledger, j.entry
limit $most;
