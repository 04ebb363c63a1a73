-- id: AX152
-- name: execution-at-odds
-- severity: warning
-- empty without: executions
--
-- What execution_log says of a turn does not fit what the conversation says. G3 begins an execution as
-- PENDING under one agent, ends it once as COMPLETED, and ends the turn with it. Rows of it are gone,
-- were changed, or were written by two servers at once. G3 reads both tables before it goes on.
with
told as (
    select
        source, exec_id,
        count(*) filter (state = 1) as begun,
        count(*) filter (state = 3) as ended,
        -- Of two rows of one instant it cannot be told which came first.
        arg_max(recorded_at, "row") is distinct from arg_max(recorded_at, "row") filter (state = 3)
            and max("row") > max("row") filter (state = 3) as goes_on,
        count(distinct agent_id) as agents,
        bool_or(state = 1 and coalesce(agent_id, '') = '') as is_nobodys,
        bool_or(named is distinct from exec_id) as is_misnamed
    from executions
    where state is not null
    group by source, exec_id
),
logged as (
    select source, conversation, exec_id, bool_or(state = 3) as is_completed,
        max(struct_pack(p := position, r := "row", step := step, digest := digest)) as last
    from event_rows
    where exec_id is not null
    group by source, conversation, exec_id
)
select
    l.source,
    n.conversation_id,
    l.last.step as step,
    case
        when t.is_misnamed then 'a row of its execution names another one.'
        when t.begun = 0 then 'its execution ends and was never begun.'
        when t.is_nobodys then 'its execution was begun without an agent.'
        when t.agents > 1 then format('{} agents share its execution.', t.agents)
        when t.ended > 1 then format('its execution ended {} times.', t.ended)
        when t.goes_on then 'its execution goes on after its end.'
        when t.ended > 0 then 'its execution is COMPLETED, and the turn is not.'
        else 'the turn is COMPLETED, and its execution is not.'
    end as sentence,
    [witness_row(l.last.step, l.last.digest)] as witness
from logged l
join told t on t.source = l.source and t.exec_id = l.exec_id
join conversation_numbers n on n.source = l.source and n.conversation = l.conversation
where t.is_misnamed or t.begun = 0 or t.is_nobodys or t.agents > 1 or t.ended > 1
    or coalesce(t.goes_on, false) or l.is_completed <> (t.ended > 0)
