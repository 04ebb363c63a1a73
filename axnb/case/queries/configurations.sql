-- The different configurations and owners of `configured`.
select distinct 'config', config, is_base64 from configured where config is not null
union all
select distinct 'harness', harness_id, false from configured where harness_id is not null
