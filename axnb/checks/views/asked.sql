-- What is asked about, whether anything stands beside a log or not. `asked_answers`,
-- `asked_expectations` (conversation_id, last, origin) and `asked_names`, the conversations that the
-- user named, are registered.
create or replace temp table expectations as
select 'expected' as source, conversation_id, last, origin from asked_expectations;

-- Whatever any witness says of a conversation. A server's mention of a request is no claim: it may
-- have been refused before anything was logged.
create or replace temp table claims as
select conversation_id, source, 1 as rank from expectations
union all
select distinct conversation_id, source, 2 from client_outputs
union all
select distinct conversation_id, source, 3 from server_events
where event in ('append-failed', 'end-not-logged') and conversation_id is not null;

-- The conversations that the question is about, in a log or not.
create or replace temp table asked_ids as
select distinct conversation_id
from (
    select conversation_id from asked_answers
    union all
    select conversation_id from conversations
    union all
    select conversation_id from claims
    union all
    select conversation_id from asked_names
)
where conversation_id in (select conversation_id from asked_names)
    or not exists (select * from asked_names);
