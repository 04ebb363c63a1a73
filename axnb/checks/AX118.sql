-- id: AX118
-- name: append-warning
-- severity: error
-- needs: witnesses
-- empty without: server_events
--
-- The server's log says that it could not write an output, or the end of a turn, into the event
-- log. From G4 on that is a warning and nothing more: the output is sent to the client all the same,
-- the next one takes its number, and the log has no gap. An end that was not logged leaves the turn
-- interrupted although it ran to its end. Reasons are SQLSTATEs, SQLite's codes or short phrases:
-- 23505 is a second server on the same conversation, SQLITE_BUSY another writer, `database is closed`
-- a server that was stopped during a turn.
with
failed as (
    select conversation_id, event, coalesce(reason, 'other') as reason, count(*) as times, min("at") as first, max("at") as last
    from server_events
    where event in ('append-failed', 'end-not-logged')
    group by all
),
reasons as (
    select conversation_id, array_to_string(list_sort(list(format('{} ({})', reason, times))), ', ') as told
    from (select conversation_id, reason, sum(times)::bigint as times from failed group by all)
    group by conversation_id
),
told as (
    select
        conversation_id,
        coalesce(sum(times) filter (event = 'append-failed'), 0)::bigint as outputs,
        coalesce(sum(times) filter (event = 'end-not-logged'), 0)::bigint as ends,
        min(first) as first,
        max(last) as last
    from failed group by conversation_id
)
select
    s.source,
    s.conversation_id,
    null as step,
    format('the server could not log {}{}{}: {}{}.',
        case outputs when 0 then '' when 1 then '1 output' else format('{} outputs', outputs) end,
        case when outputs > 0 and ends > 0 then ' and ' else '' end,
        case ends when 0 then '' when 1 then 'the end of a turn' else format('the ends of {} turns', ends) end,
        r.told,
        case
            when t.first is null then ''
            when t.first = t.last then strftime(t.first, '; at %Y-%m-%dT%H:%M:%SZ')
            else strftime(t.first, '; first at %Y-%m-%dT%H:%M:%SZ') || strftime(t.last, ', last at %Y-%m-%dT%H:%M:%SZ')
        end) as sentence,
    [] as witness
from subjects s
join told t on t.conversation_id = s.conversation_id
join reasons r on r.conversation_id = s.conversation_id
