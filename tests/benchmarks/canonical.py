"""Canonical digests of a large log, beside DuckDB's own sha256 of the same payloads.

    python -m tests.benchmarks.canonical --events 1000000
    python -m tests.benchmarks.canonical --events 1000000 --generation G5

sha256         DuckDB, all its threads: the sha256 of every payload of `event_rows`
rows           the canonical digest of every row
conversations  the digest of every conversation

Each is run three times, in turn; the medians are compared. Exit code 1 if the rows take more than
four times as long as DuckDB does.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb

from axnb.case.canonical import all_canonical_digests
from axnb.case.case import Case
from axnb.case.conversation_digests import conversation_digests
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.settings import Settings
from tests.benchmarks.build_log import GENERATIONS, build_sqlite

RUNS = 3
MOST_TIMES = 4.0

Work = Callable[[duckdb.DuckDBPyConnection, str], int]


def sha256(session: duckdb.DuckDBPyConnection, _: str) -> int:
    """How many payloads differ by their sha256."""
    query = "select count(distinct sha256(payload)) from event_rows"
    ((different,),) = session.execute(query).fetchall()
    return int(different)


def rows(session: duckdb.DuckDBPyConnection, source: str) -> int:
    """How many rows have a canonical digest."""
    batches = all_canonical_digests(session, source)
    return sum(batch.num_rows - batch.column("digest").null_count for batch in batches)


def conversations(session: duckdb.DuckDBPyConnection, source: str) -> int:
    """How many conversations have a digest."""
    found = conversation_digests(session, source).values()
    return sum(conversation.digest is not None for conversation in found)


def timed(case: Case, work: Work, source: str) -> tuple[float, float, int]:
    """Seconds on the wall, seconds of processors (other processes too), and what was found."""
    with case.reading() as session:
        before, started = os.times(), time.perf_counter()
        found = work(session, source)
        took, after = time.perf_counter() - started, os.times()
    return took, sum(after[:4]) - sum(before[:4]), found


def run(events: int, generation: str, memory: str) -> bool:
    """Build, load, measure and tell; False if it took too long."""
    works: tuple[Work, ...] = (sha256, rows, conversations)
    took: dict[str, list[tuple[float, float, int]]] = {work.__name__: [] for work in works}
    with (
        tempfile.TemporaryDirectory() as folder,
        Case(settings=Settings(memory_limit=memory)) as case,
    ):
        log = Path(folder) / "log.sqlite"
        build_sqlite(log, events, generation)
        source = load_log(case, locate(str(log), {}).log)
        log.unlink()
        for _ in range(RUNS):
            for work in works:
                took[work.__name__].append(timed(case, work, source))
    medians = {
        name: [median(column) for column in zip(*of, strict=True)] for name, of in took.items()
    }
    for name, (wall, cpu, found) in medians.items():
        times = wall / medians["sha256"][0]
        print(f"{name:13} {wall:6.2f} s, {cpu:6.2f} s of processors, {times:4.2f} x: {found:,.0f}")
    return medians["rows"][0] <= MOST_TIMES * medians["sha256"][0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--generation", choices=GENERATIONS, default="G8")
    parser.add_argument("--memory", default="3GB", help="DuckDB's; with less it reads from a file")
    asked = parser.parse_args()
    sys.exit(not run(asked.events, asked.generation, asked.memory))
