-- id: AX502
-- name: instructions-drift
-- severity: warning
-- empty without: drifts
--
-- The last turn was interrupted, or waits for a person's answer, and its input row holds other
-- instructions than the given ax.yaml has for the harness that would go on with it. What the turn did so
-- far followed the old ones: see what they allowed before it goes on. The texts are compared by
-- fingerprint, and neither is shown here.
select source, conversation_id, step,
    format('turn {} ran with other instructions than those that would run it now.', turn) as sentence,
    [witness_row(step, digest)] as witness
from drifts
where against = 'now' and part = 'instructions'
