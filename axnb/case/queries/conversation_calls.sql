-- Calls of one conversation that are made or answered at some positions. Parameters: $source, $id,
-- $positions.
with mine as materialized (
    select
        call_step, call_position, part, call_id, tool, operation_id, operation_id_from, observations,
        result_position, pairing, outcome
    from tool_calls
    where source = $source and conversation_id = $id
)
select *
from mine
where call_position in (select unnest($positions::bigint[]))
    or result_position in (select unnest($positions::bigint[]))
order by call_position, part;
