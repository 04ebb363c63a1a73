-- Open turns whose context is known, of sources of which nobody said what would run them now; and whether
-- harnesses were named all the same. Parameter: $ids, or NULL for all.
select
    count(*) as turns,
    coalesce(bool_or(source in (select source from contexts where turn is null)), false) as has_harnesses
from open_turns o
where ($ids::varchar[] is null or conversation_id in (select unnest($ids::varchar[])))
    and (source, conversation_id, turn) in (
        select (source, conversation_id, turn) from contexts where part = 'config' and turn is not null
    )
    and source not in (select source from contexts where turn is null and part <> 'harness')
