-- Somebody has payloads shown. Parameters: $at (UTC), $who, $source, $id, $parts.
insert into reveals values ($at, $who, $source, $id, $parts);
