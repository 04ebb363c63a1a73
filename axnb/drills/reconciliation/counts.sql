-- How many calls and entries of each tool are of which class.
select tool, class, count(*) as found, count(*) filter (consequential) as consequential
from (
    select tool, class, consequential from calls_judged
    union all
    select coalesce(tool, ''), 'no-call-in-log', true from entries_judged
)
group by tool, class;
