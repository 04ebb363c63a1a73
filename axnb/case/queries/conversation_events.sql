-- What servers said of one conversation, in order, with the clock that they had. Parameter: $id.
select strftime("at", '%Y-%m-%d %H:%M:%S.%g') as "at", event, reason
from server_events
where conversation_id = $id
order by "at" nulls last, source, line;
