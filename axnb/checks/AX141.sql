-- id: AX141
-- name: content-lost
-- severity: error
-- needs: answers
-- only with: lost_history
--
-- The asked server decodes these rows without an error and without their content: the keys that
-- hold it have other names in its generation, and unknown keys are dropped. States are kept, so the
-- conversation looks finished and empty. The first request answers from an empty history, and
-- binds the conversation to whichever harness it chose. Migrate the log before that server sees it.
select
    a.source,
    a.conversation_id,
    null as step,
    format('{} reads {} of its content.', $asked, case a.history when 'lost' then 'none' else 'only a part' end) as sentence,
    [] as witness
from answers a
where a.history in ('lost', 'part')
