-- id: AX149
-- name: harmful-request
-- severity: info
-- needs: answers
-- only with: repeating
--
-- An empty request, as a resume sends it, does harm by itself under the asked server: G3 runs the
-- agent again on the whole history, in any state, effects included; G4 leaves an empty input row
-- behind and fails, and the conversation is interrupted from there on. Send no empty request there.
select
    a.source,
    a.conversation_id,
    null as step,
    case a.empty
        when 're-runs' then format('an empty request under {} runs the agent again on the whole history.', $asked)
        else format('an empty request under {} leaves an empty input row behind and fails.', $asked)
    end as sentence,
    [] as witness
from answers a
where a.empty in ('re-runs', 'appends-then-fails')
