-- Where what an open turn ran with differs from what would run it now, as far as both are known; and
-- where what a conversation runs with changed from turn to turn. Parameter: $source.
delete from drifts where source = $source;
insert into drifts
with
now as (select * from contexts where source = $source and turn is null),
asked as (
    select
        o.conversation_id, o.turn, o.input_step,
        -- AX goes by the first owner that a row names. G3's rows name none, but its executions do.
        coalesce(o.harness_id, max(c.harness_id), (select max(harness_id) from now where part = 'harness')) as harness_id
    from open_turns o
    left join contexts c on c.source = o.source and c.conversation_id = o.conversation_id and c.turn = o.turn
    where o.source = $source
    group by o.conversation_id, o.turn, o.input_step, o.harness_id
),
known as (
    select a.harness_id as runs, c.*
    from asked a
    join contexts c on c.source = $source and c.conversation_id = a.conversation_id and c.turn = a.turn
        and c.how = 'row'
),
differing as (
    select k.conversation_id, k.turn, k.step, k.part, k.shown as before, n.shown as after
    from known k
    join now n on n.harness_id = k.runs and n.part = k.part and n.fingerprint <> k.fingerprint
    where k.part in ('model', 'instructions', 'tools', 'skills')
),
-- Settings that both name, with other values.
set_otherwise as (
    select distinct k.conversation_id, k.turn, k.step, s.setting
    from known k
    join now n on n.harness_id = k.runs and n.part = 'config'
    join config_settings s on s.source = $source and s.config = k.fingerprint
    join config_settings t on t.source = $source and t.config = n.fingerprint
        and t.setting = s.setting and t.fingerprint <> s.fingerprint
    where k.part = 'config'
),
-- Tools that were called and are not there now, where the row does not say which ones the turn had.
missing as (
    select a.conversation_id, a.turn, a.input_step as step, c.shown as tool
    from asked a
    join now n on n.harness_id = a.harness_id and n.part = 'tools'
    join contexts c on c.source = $source and c.conversation_id = a.conversation_id and c.turn = a.turn
        and c.how = 'rows'
    where c.fingerprint not in (select fingerprint from now where part = 'tool' and harness_id = a.harness_id)
        and not exists (
            select 1 from known k
            where k.conversation_id = a.conversation_id and k.turn = a.turn and k.part = 'tools'
        )
),
changed as (
    select conversation_id, part
    from contexts
    where source = $source and turn is not null and how = 'row' and part in ('model', 'tools', 'skills')
    group by conversation_id, part
    having min(fingerprint) <> max(fingerprint)
),
followed as (
    select
        c.conversation_id, c.turn, c.step, c.part, c.fingerprint, c.shown,
        lag(c.fingerprint) over w as earlier,
        lag(c.shown) over w as shown_earlier
    from contexts c
    join changed using (conversation_id, part)
    where c.source = $source and c.turn is not null and c.how = 'row'
    window w as (partition by c.conversation_id, c.part order by c.turn)
),
drifted as (
    select conversation_id, turn, step, 'now' as against, part, before, after from differing
    union all
    select conversation_id, turn, step, 'now', 'settings', array_to_string(list_sort(list(setting))[:12], ', '), null
    from set_otherwise
    group by conversation_id, turn, step
    union all
    select conversation_id, turn, step, 'now', 'called', array_to_string(list_sort(list(tool))[:12], ', '), null
    from missing
    group by conversation_id, turn, step
    union all
    select conversation_id, turn, step, 'turn', part, shown_earlier, shown
    from followed where earlier <> fingerprint
),
named as (
    select n.conversation_id, e.step, arg_min(e.digest, e."row") as digest
    from event_rows e
    join conversation_numbers n on n.source = e.source and n.conversation = e.conversation
    where e.source = $source and (n.conversation_id, e.step) in (select (conversation_id, step) from drifted)
    group by n.conversation_id, e.step
)
select $source, d.conversation_id, d.turn, d.step, n.digest, d.against, d.part, d.before, d.after
from drifted d
left join named n on n.conversation_id = d.conversation_id and n.step = d.step;
