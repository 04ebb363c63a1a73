-- Signs of what checks of the asked server's answers look for, as in `log.sql`.
select
    bool_or(empty = 'unreadable') as unreadable,
    bool_or(empty = 'wrong-column') as wrong_column,
    bool_or(empty in ('harness-missing', 'harness-changed')) as refused,
    bool_or(empty in ('lost-pending', 'closes-unrun')) as lost_executions,
    bool_or(empty in ('re-runs', 'appends-then-fails')) as repeating,
    bool_or(history in ('lost', 'part')) as lost_history,
    bool_or(owner = '' and has_owners) as unseen_owners
from answers
