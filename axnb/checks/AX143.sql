-- id: AX143
-- name: dropped-fields
-- severity: warning
-- needs: answers
-- empty without: dropped_fields
--
-- Rows hold fields that AX reads over: keys that the row's own generation has no field for, and keys
-- that the asked server has none for. Nothing is reported when they are dropped, and a server that
-- writes the row anew loses them for good. Keys that only repeat the row's number are left out.
select * from dropped_fields
