-- id: AX504
-- name: image-drift
-- severity: warning
-- needs: snapshots
-- empty without: actors
--
-- The last turn was interrupted, or waits for a person's answer, and the snapshot of its actor was taken
-- under another template than the one that would run it now, with other images or with images that no
-- record tells. The uid of a template stands for its code. Substrate restores memory under the same uid
-- alone: else it takes the data only, and versions of before September 2026 restore what may not fit.
with
sides as (
    select
        source, conversation_id, actor, how,
        any_value(snapshot) as snapshot, any_value(template) as template, any_value(template_uid) as uid,
        list_sort(list(container || '@' || digest) filter (digest is not null)) as images,
        array_to_string(list_sort(list(distinct replace(digest, 'sha256:', '')[:12]) filter (digest is not null))[:6], ', ') as shown
    from record_contexts
    group by source, conversation_id, actor, how
)
select
    w.source, w.conversation_id, o.input_step as step,
    format('the snapshot of {} was taken under the template {} with uid {} ({}), and uid {} ({}) would run it now.',
        short(w.actor), short(w.template), short(w.uid),
        case when w.images is null then 'image not known' else 'image ' || w.shown end,
        short(n.uid),
        case when n.images is null then 'image not known' else 'image ' || n.shown end) as sentence,
    [witness_row(e.step, e.digest)] as witness,
    w.snapshot, w.actor
from sides w
join sides n using (source, conversation_id, actor)
join open_turns o using (source, conversation_id)
left join log_rows e on e.source = o.source and e."row" = o.first_row
where w.how = 'record' and n.how = 'template' and w.uid <> n.uid
    and (w.images is null or n.images is null or w.images <> n.images)
