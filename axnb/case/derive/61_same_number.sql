-- Rows that share a number have to be compared by what they say, and not by how it is spelled.
insert into wanted
select 'number', 0, p."row", p.conversation, p.step, p.position, p.turn, null, null, null
from placed p
join shared_numbers s on s.conversation = p.conversation and s.step = p.step;
