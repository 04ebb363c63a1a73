-- id: AX505
-- name: configuration-drift
-- severity: info
-- empty without: drifts
--
-- The last turn was interrupted, or waits for a person's answer, and other settings on its input row
-- than the model, the instructions and the tools differ from those that the given ax.yaml has for the
-- harness that would go on with it. Only settings that both name are compared.
select source, conversation_id, step,
    format('turn {} ran with other values of {} than what would run it now.', turn, before) as sentence,
    [witness_row(step, digest)] as witness
from drifts
where against = 'now' and part = 'settings'
