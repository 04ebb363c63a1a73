-- Every snapshot with all that was found out about it. `mapped` is a temp table of
-- axnb/mapping/mapped.sql.
select m.*, coalesce(i.images, []) as images, coalesce(a.assets, []) as assets
from mapped m
left join (
    -- By the uid that was recorded, else by the name alone.
    select m.source, m.snapshot,
        list(struct_pack(container := c.container, image := c.image, digest := c.digest)
            order by c.container) as images
    from mapped m
    join template_containers c on c.space || '/' || c.template = m.template
        and (m.template_uid is null or c.uid is null or c.uid = m.template_uid)
    group by all
) i using (source, snapshot)
left join snapshot_runtimes a using (source, snapshot)
order by m.source, m.snapshot;
