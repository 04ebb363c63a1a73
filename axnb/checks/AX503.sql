-- id: AX503
-- name: tool-set-drift
-- severity: warning
-- empty without: drifts
--
-- The last turn was interrupted, or waits for a person's answer, and the tools or skills that its input
-- row names are not those that the given ax.yaml has for the harness that would go on with it. Where the
-- row names none, a tool that the turn called and that is not there now is told. A call that was never
-- answered cannot be repeated, or read back, by a harness without its tool.
select source, conversation_id, step,
    case part
        when 'called' then format('turn {} called {}, which what would run it now does not have.', turn, before)
        else format('turn {} ran with the {} {}, and it would have {} now.', turn, part,
            coalesce(before, '(names not shown)'), coalesce(after, 'others'))
    end as sentence,
    [witness_row(step, digest)] as witness
from drifts
where against = 'now' and part in ('tools', 'skills', 'called')
