-- Harnesses that never log a result; the unnamed default is empty.
select source, harness_id from silent_harnesses;
