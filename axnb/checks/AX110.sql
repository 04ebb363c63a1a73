-- id: AX110
-- name: interrupted-turn
-- severity: error
-- only with: interrupted_turns
--
-- The last turn of the conversation has no end. A crash, a kill, a harness that failed, a client
-- that left or an end that could not be logged all leave this shape, and the log does not say which
-- it was. From G5 on, AX tries to restart such a turn with an empty start before it does anything
-- else; a harness that refuses that, as the built-in ones do, blocks the conversation for good.
select
    t.source,
    t.conversation_id,
    t.last_step as step,
    format('turn {} has no end.', t.turn) as sentence,
    [witness_row(e.step, e.digest)] as witness
from turns t
join conversations c on c.source = t.source and c.conversation_id = t.conversation_id
    and c.state <> 'finished'
left join log_rows e on e.source = t.source and e."row" = t.last_row
where t.ended = 'interrupted'
    and t.turn = (
        select max(turn) from turns l
        where l.source = t.source and l.conversation_id = t.conversation_id and l.ended <> 'unspecified'
    )
