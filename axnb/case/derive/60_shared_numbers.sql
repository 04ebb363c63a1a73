-- Numbers that rows of a conversation share.
create or replace temp table shared_numbers as
select conversation, step
from placed
where step is not null
group by conversation, step
having count(*) > 1;
