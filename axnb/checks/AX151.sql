-- id: AX151
-- name: mixed-executions
-- severity: warning
-- only with: executions_named
--
-- A row names another execution than the row before it, or none, in the middle of a turn. Up to G4 all
-- rows of a turn name the same one, and only an input begins another. The row was moved, changed or
-- written by another program, or two servers wrote the conversation at once. G3 goes by the execution
-- to know what is pending: it may run again what was done, or close what never ran.
select
    r.source,
    n.conversation_id,
    min(r.step) as step,
    format('{} {} another execution than the row before {} in the same turn, the first at step {}.', count(*),
        case when count(*) = 1 then 'row names' else 'rows name' end,
        case when count(*) = 1 then 'it' else 'each' end, min(r.step)) as sentence,
    [arg_min(witness_row(r.step, r.digest), struct_pack(p := r.position, r := r."row"))] as witness
from (
    select
        e.source, e.conversation, e.step, e.position, e."row", e.digest, e.exec_id, e.shape,
        -- That a text of a person's stands inside a turn is another matter (AX111).
        coalesce(e.state = 1 and e.part_role = 'user' and e.part_kind = 'text', false) as is_input,
        lag(e.exec_id) over before as exec_before,
        lag(e.state) over before as state_before
    from event_rows e
    -- Later generations name none at all.
    semi join (select distinct source, conversation from event_rows where exec_id is not null) x
        on x.source = e.source and x.conversation = e.conversation
    window before as (partition by e.source, e.conversation order by e.position, e."row")
) r
join conversation_numbers n on n.source = r.source and n.conversation = r.conversation
where r.exec_id is distinct from r.exec_before and r.state_before <= 1 and not r.is_input
    -- A log that was taken to a later generation goes on there, and its rows name none.
    and (r.exec_id is not null or r.shape in ('exec', 'G5'))
group by r.source, n.conversation_id
