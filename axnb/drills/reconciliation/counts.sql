-- How many calls and entries of each tool are of which class; of them, how many have consequences, and
-- of how many of those the log knows no outcome.
select
    tool, class, count(*) as found, count(*) filter (consequential) as consequential,
    count(*) filter (is_open) as unanswered
from (
    select tool, class, consequential, is_open from calls_judged
    union all
    select coalesce(tool, ''), 'no-call-in-log', true, false from entries_judged
)
group by tool, class;
