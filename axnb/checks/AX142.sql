-- id: AX142
-- name: wrong-column
-- severity: error
-- needs: answers
-- only with: wrong_column
--
-- The log numbers its rows in a column of the other name (seq up to v0.2.1, step since v0.2.2). The
-- asked server starts on it without an error, and then every request fails, on old conversations
-- and on new ones; only deletion works. Nothing is lost until somebody deletes.
select
    s.source,
    null as conversation_id,
    null as step,
    format('{} looks for the other column, and this log has {}.', $asked, s.step_column) as sentence,
    [] as witness
from sources s
where s.source in (select source from answers where empty = 'wrong-column')
