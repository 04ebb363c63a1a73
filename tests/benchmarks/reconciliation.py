"""Hold a million calls against a million effects, beside pandas.

    python -m tests.benchmarks.reconciliation --calls 1000000

axnb     what the drill does of them: pairs, classes, moments, and the worst of all, read out
pandas   `merge` on tool and operation id, and the same classes in masks over columns

Both begin with what was loaded, in a process of their own, and count the same classes. Medians of
three, in turn. Exit code 1 if axnb takes more than 6 s or 1.5 GB, or is not five times as fast.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime
from pathlib import Path

from axnb.case.case import Case
from axnb.drills.reconciliation.judged import counts, judged
from axnb.drills.reconciliation.matching import match
from axnb.settings import Settings

_RUNS = 3
_MOST_SECONDS, _MOST_BYTES, _LEAST_TIMES = 6.0, 1.5e9, 5.0
_SPAN = datetime(2026, 5, 20), datetime(2026, 12, 31)

#: One call in a hundred has no result; of effects one in a hundred is nobody's, and one stands
#: under the id of another.
_CALLS = """
insert into tool_calls
select
    'log', 'c-' || (n // 200), n // 8, n % 200, n % 200, 1, 'call_' || n,
    case when n % 3 = 0 then 'charge_card' else 'send_email' end,
    'op-' || md5(n::varchar), '$.key', 1,
    case when n % 100 = 7 then null else n % 200 + 1 end, null, 'id',
    case when n % 100 = 7 then 'unknown' else 'completed' end, true, 2 * n + 1, 2 * n + 2
from range(?) r(n);
"""
_EFFECTS = """
insert into effects
select
    'bank', n + 1, case when n % 3 = 0 then 'charge_card' else 'send_email' end,
    case
        when n % 100 = 13 then 'op-lost-' || n
        else 'op-' || md5((case when n % 100 = 17 then n - 3 else n end)::varchar)
    end,
    'c-' || (n // 200), 'done', 'committed', timestamp '2026-10-01' + interval (n) second, null,
    null, [], sha256(n::varchar)::blob
from range(?) r(n);
insert into ledgers values
    ('bank', ['charge_card', 'send_email'], '2026-01-01', '2027-01-01', interval 0 second, true,
    true, [], [], false);
insert into sources
select source, kind, source || '.file', null, null, 0, 0, 0, 0, 0, null, '{}', [], []
from (values ('log', 'eventlog'), ('bank', 'ledger')) v(source, kind);
"""


def _build(path: Path, calls: int) -> None:
    with Case(path, Settings()) as case, case.writing() as session:
        session.execute(_CALLS, [calls])
        effects, ledgers, sources, _ = _EFFECTS.split(";\n")
        session.execute(effects, [calls])
        session.execute(ledgers)
        session.execute(sources)


def _axnb(path: Path) -> Counter[str]:
    with Case(path, Settings()) as case, case.reading() as session:
        match(session, *_SPAN)
        judged(session, {})
        found: Counter[str] = Counter()
        for of in counts(session).values():
            found.update({name: number.found for name, number in of.items()})
        return found


def _pandas(path: Path) -> Counter[str]:
    import pandas as pd

    with Case(path, Settings()) as case:
        calls = case.frame("select * from tool_calls")
        effects = case.frame("select * from effects")
    keys = ["tool", "operation_id"]
    both = calls.merge(effects, on=keys, how="outer", indicator=True, suffixes=("", "_effect"))
    row = ["source", "call_row", "part"]
    of_calls = both[both["call_row"].notna()]
    done = of_calls[of_calls["_merge"] == "both"].groupby(row)["row"].transform("count")
    of_calls = of_calls.assign(done=done).drop_duplicates(row)
    found: Counter[str] = Counter()
    is_matched = of_calls["done"].notna()
    twice = is_matched & (of_calls["done"] > 1)
    once = is_matched & ~twice
    found["duplicated"] = int(twice.sum())
    found["matched"] = int((once & (of_calls["outcome"] == "completed")).sum())
    found["result-lost"] = int((once & (of_calls["outcome"] != "completed")).sum())
    # When it was made: between the effects before and after it in the order of commits.
    ordered = of_calls.sort_values("call_row")
    known = ordered["happened_at"].where(ordered["done"] == 1)
    earliest, latest = known.ffill(), known[::-1].bfill()
    is_covered = (earliest >= pd.Timestamp("2026-01-01")) | latest.notna()
    found["not-executed"] = int((ordered["done"].isna() & is_covered.loc[ordered.index]).sum())
    found["no-call-in-log"] = int((both["_merge"] == "right_only").sum())
    return found


def _one(path: Path, who: str) -> None:
    begun = time.perf_counter()
    found = _axnb(path) if who == "axnb" else _pandas(path)
    seconds = time.perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = {name: number for name, number in sorted(found.items()) if number}
    print(json.dumps({"seconds": seconds, "bytes": memory, "found": told}))


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--case", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        _one(asked.case, asked.one)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.duckdb")
        _build(path, asked.calls)
        runs: dict[str, list[dict[str, float]]] = {"axnb": [], "pandas": []}
        for _ in range(_RUNS):
            for who, told in runs.items():
                command = [sys.executable, "-m", __spec__.name, "--one", who, "--case", str(path)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                told.append(json.loads(done.stdout))
    seconds = {}
    for who, told in runs.items():
        seconds[who] = statistics.median(run["seconds"] for run in told)
        memory = statistics.median(run["bytes"] for run in told)
        print(f"{who:<8} {seconds[who]:6.2f} s  {memory / 1e6:6.0f} MB  {told[0]['found']}")
    times = seconds["pandas"] / seconds["axnb"]
    print(f"{times:.1f} times as fast")
    most = max(run["bytes"] for run in runs["axnb"])
    is_fine = seconds["axnb"] <= _MOST_SECONDS and most <= _MOST_BYTES and times >= _LEAST_TIMES
    return int(not is_fine)


if __name__ == "__main__":
    sys.exit(main())
