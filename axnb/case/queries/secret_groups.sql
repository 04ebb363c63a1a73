-- Secrets of a case by their keyed digest: where each lies, and which snapshots would bring it back.
select
    digest,
    max(kind) as kind,
    min(name) as name,
    bool_and(is_partial) as is_partial,
    count(*) as places,
    list(distinct place order by place) as kinds_of_place,
    list(distinct snapshot order by snapshot) filter (snapshot is not null) as snapshots,
    list(distinct conversation_id order by conversation_id) filter (conversation_id is not null) as conversations
from secrets
group by digest
order by digest;
