-- Conversations that a client or a server tells of, whether or not a log holds them.
select conversation_id from client_outputs
union
select conversation_id from server_events where conversation_id is not null;
