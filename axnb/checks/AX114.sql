-- id: AX114
-- name: ambiguous-end
-- severity: info
--
-- AX writes COMPLETED when a harness's stream ends, whatever state the harness gave: one that was
-- cancelled, left open or unspecified looks the same as one that did its work. A finished turn says
-- that nothing more comes, and not that its work was done.
select
    t.source,
    null as conversation_id,
    null as step,
    format('{} ended COMPLETED, which AX also writes for a cancelled turn.',
        case when count(*) = 1 then '1 turn' else count(*) || ' turns' end) as sentence,
    [] as witness
from turns t
where t.ended = 'STATE_COMPLETED'
group by t.source
