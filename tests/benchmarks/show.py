"""Show conversations of a case file by the clock, as `axnb show --case` does.

    python -m tests.benchmarks.show CASE.duckdb LOG

A log that the case does not hold is loaded first. It prints one JSON object: the median and the
slowest of some conversations from all over the log, in seconds inside the process, and how many
events the case holds. Imports are not part of the time.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

from axnb.case.case import Case
from axnb.loading import held, load
from axnb.report.conversation import render_conversation
from axnb.settings import Settings
from axnb.triaging import triage

#: Conversations that are shown, evenly spread over the log; a first one, which warms the caches of
#: DuckDB's library and of the disk, does not count.
_SHOWN = 9


def main() -> None:
    """Load if need be, show, and print what it took."""
    path, source = sys.argv[1:]
    case = Case(path, Settings())
    if not Path(path).exists() or held(case, source) is None:
        load(case, [source])
    ids = [found for (found,) in case.rows(_SOME, {"some": _SHOWN + 1})]
    took = [_show(path, source, conversation_id) for conversation_id in ids][1:]
    ((events,),) = case.rows("select count(*) from event_rows")
    print(json.dumps({"seconds": statistics.median(took), "worst": max(took), "events": events}))


_SOME = """
select conversation_id
from conversation_numbers
where conversation % greatest((select count(*) from conversation_numbers) // $some, 1) = 0
order by conversation limit $some
"""


def _show(path: str, source: str, conversation_id: str) -> float:
    started = time.perf_counter()
    with Case(path, Settings()) as case:
        if held(case, source) is None:
            raise SystemExit("the case does not hold the log.")
        with case.reading():
            answer = triage(case, None, [conversation_id])
            text = render_conversation(case, answer, conversation_id).text
    took = time.perf_counter() - started
    if conversation_id not in text:
        raise SystemExit(f"{conversation_id} was not shown.")
    return took


if __name__ == "__main__":
    main()
