-- The rows of the conversations in `planned`, in AX's order: who wrote them, what the asked server
-- decodes from each, and what tells whether a row is still the same. A generation that reads
-- nothing from a row of the fast path is told by the row's shape, as in case/histories.sql.
-- Parameters: $source, $generation (one a schema), $owner_key, $config_kind, $tail_digits.
with
found as (
    select
        e."row", n.conversation_id, e.step, e.position, e.visible, e.fast, e.state,
        e.harness_id as owner, e.config, cast(e.shape as varchar) as shape, e.exec_id,
        strlen(e.payload) as size, e.digest, right(hex(e.payload), $tail_digits) as tail, '' as reason,
        case when e.harness_id is not null then e.payload end as payload
    from event_rows e
    join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
    join planned p on p.conversation_id = n.conversation_id
    where e.source = $source
    union all
    select
        j."row", j.conversation_id, j.step, j.position, j.visible, false, coalesce(j.state, 0),
        null, null, j.shape, null, j.size, j.digest, right(hex(j.raw), $tail_digits), j.reason, null
    from rejects j
    join planned p on p.conversation_id = j.conversation_id
    where j.source = $source
)
select
    f."row", f.conversation_id, f.step, f.position, f.visible, f.size, f.digest, f.tail, f.reason,
    f.payload, f.owner, f.exec_id,
    case when f.fast
        then not (f.config is not null and $config_kind <> 'none' and f.shape <> 'G8'
            and starts_with(f.config, '{') <> ($config_kind = 'object'))
        else r.readable
    end as readable,
    case when f.fast then f.state else r.state end as state,
    case
        when not f.fast then nullif(r.owner, '')
        when (f.shape = 'G8') = ($owner_key = 'agent_id') and $owner_key <> '' then f.owner
    end as owner_seen,
    -- Rows that share a number, where the table has no key, may lie in two turns at once.
    (
        select arg_max(t.generation, t.turn) from turns t
        where t.source = $source and t.conversation_id = f.conversation_id
            and f.position between t.first_position and t.last_position
    ) as writer
from found f
left join readings r on r.source = $source and r."row" = f."row" and r.generation = $generation
order by f.conversation_id, f.position, f."row";
