"""Migrate a large SQLite log into another, beside `VACUUM INTO` of the same file.

    python -m tests.benchmarks.migration --events 1000000

Both write a whole new file. A migration does more: it copies the source aside and proves that it
did not move, converts every row, and reads the new file back. Contenders take turns, each in a
fresh process, and the medians of three count. It needs two cores that nobody else uses; `cpu s`
tells if it had them (about twice the seconds). Exit code 1 if it takes more than 8 times as long.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from axnb.migrating import MigrationOptions, migrate
from tests.benchmarks.build_log import build_sqlite

_MOST = 8.0
_ROUNDS = 3
_WAYS = (("G5", "G6"), ("G6", "G8"))


def _vacuum(log: Path, place: Path) -> None:
    with closing(sqlite3.connect(log)) as database:
        database.execute("vacuum into ?", (str(place),))


def _migrate(log: Path, place: Path, target: str) -> None:
    migrate(str(log), str(place), MigrationOptions(target))


def _one(log: Path, place: Path, target: str) -> None:
    """Run one contender in this process, and print its seconds, those of the CPU, and megabytes."""
    begun = time.perf_counter()
    if target:
        _migrate(log, place, target)
    else:
        _vacuum(log, place)
    seconds = time.perf_counter() - begun
    own, others = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    print(seconds, cpu, max(own.ru_maxrss, others.ru_maxrss) / 1024)


def _measured(log: Path, target: str) -> tuple[float, float, float]:
    """Seconds with the start of Python and its imports apart, seconds of the CPU, and megabytes."""
    with tempfile.TemporaryDirectory(dir=log.parent) as folder:
        command = [sys.executable, "-m", __spec__.name, "--one", target, "--log", str(log)]
        command += ["--place", str(Path(folder, "new.sqlite"))]
        found = subprocess.run(command, capture_output=True, check=True, text=True)
    seconds, cpu, megabytes = map(float, found.stdout.split())
    return seconds, cpu, megabytes


def _compare(events: int, old: str, new: str, folder: Path) -> float:
    log = folder / f"{old}.sqlite"
    build_sqlite(log, events, old)
    rounds = [(_measured(log, ""), _measured(log, new)) for _ in range(_ROUNDS)]
    log.unlink()
    vacuum, ours = (
        [statistics.median(column) for column in zip(*runs, strict=True)]
        for runs in zip(*rounds, strict=True)
    )
    ratio = ours[0] / vacuum[0]
    print(f"{old} to {new}, {events:,} events: {ratio:.1f} x")
    for name, (seconds, cpu, megabytes) in (("VACUUM INTO", vacuum), ("migrate", ours)):
        print(f"  {name:<12} {seconds:7.2f} s   {cpu:7.2f} cpu s   {megabytes:6.0f} MB")
    return ratio


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="Where the logs are written.")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one is not None:
        _one(asked.log, asked.place, asked.one)
        return 0
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        ratios = [_compare(asked.events, old, new, Path(folder)) for old, new in _WAYS]
    return int(max(ratios) > _MOST)


if __name__ == "__main__":
    sys.exit(main())
