-- id: AX119
-- name: unlogged-output
-- severity: error
-- needs: witnesses
-- empty without: client_outputs
--
-- A client was sent outputs with the number 0: AX told the client, and could not log them. They are
-- in no log, and a server that goes on from the log knows nothing of them; among them may be a call
-- of a tool whose effect has happened. Read the tools' own systems back before anything runs again.
--
-- This is why a log without gaps proves nothing. AX takes the number of an output when it inserts
-- the row: the highest one there is, plus one. An output that could not be logged takes none, and the
-- next one takes the number that it would have had. Steps 1 to N are all there, the conversation may
-- end COMPLETED, and a tool call, its result and a real charge are missing. It happens when the store
-- is locked for longer than ten seconds, when two servers write to one PostgreSQL, and at every
-- SIGTERM during a turn, since AX closes the store before it waits for the turn to end.
-- Only something beside the log can tell: what a client was sent (--client), the warnings of the
-- server (--server-log, AX118), what a person expected (--expect-last, AX103), another copy of the
-- log (AX103, AX107), or the ledger of a tool. Where none of them was looked at, nobody knows.
with
kinds as (
    select conversation_id, kind, count(*) as outputs
    from client_outputs
    where number = 0
    group by conversation_id, kind
),
told as (
    select
        conversation_id,
        sum(outputs)::bigint as outputs,
        array_to_string(list_sort(list(format('{} {}', kind, outputs))), ', ') as kinds
    from kinds group by conversation_id
)
select
    s.source,
    s.conversation_id,
    null as step,
    format('{} sent to a client and {} in no log: {}.',
        case t.outputs when 1 then '1 output was' else format('{} outputs were', t.outputs) end,
        case t.outputs when 1 then 'is' else 'are' end,
        t.kinds) as sentence,
    [] as witness
from subjects s
join told t on t.conversation_id = s.conversation_id
