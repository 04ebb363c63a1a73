-- id: AX501
-- name: model-drift
-- severity: warning
-- empty without: drifts
--
-- The last turn was interrupted, or waits for a person's answer, and the configuration on its input
-- names another model than the one that the given ax.yaml says of the harness that would go on with it.
-- AX does not run a turn with what it was begun with: a restart takes what the server and the new
-- request say. Name the model in that request, or know that another one reads this history.
select source, conversation_id, step,
    format('turn {} ran with the model {}, and {} would run it now.', turn,
        coalesce(short(before), '(name not shown)'), coalesce(short(after), 'another one')) as sentence,
    [witness_row(step, digest)] as witness
from drifts
where against = 'now' and part = 'model'
