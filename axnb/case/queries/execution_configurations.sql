-- The same of G3's executions. Parameter: $source.
select distinct 'base64', config from executions where source = $source and config is not null
union all
select distinct 'owner', agent_id from executions where source = $source and agent_id is not null
