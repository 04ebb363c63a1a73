"""Run the resume drill as people do, and points 3 and 4 many times with random moments.

    python -m tests.benchmarks.resume
    python -m tests.benchmarks.resume --repeat 200

sqlite    the notebook, all eight points and its report: SQLite, snapshots in a folder (under 25 s)
servers   the same on a fresh PostgreSQL, snapshots to a real S3 server (under 60 s)
moments   points 3 and 4, each so many times with places and moments that are drawn, under
          `read-before-retry`: every one must be ok, and nothing may be left

Exit code 1 if one of these is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from axnb.drills.resume import ResumeOptions, run
from axnb.notebook.drills import open_resume_drill
from axnb.notebook.runner import run_notebook
from axnb.notebook.shipped import shipped
from axnb.result import Result
from axnb.settings import Settings
from tests.s3_server import S3Server

POLICY = "read-before-retry"
_MOST_SECONDS = {"sqlite": 25.0, "servers": 60.0}


def notebook(title: str, **parameters: object) -> bool:
    """Run the notebook with its report, and say how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        started = time.monotonic()
        asked = {"policies": [POLICY], "out": str(out), **parameters}
        run_notebook(shipped("notebooks", "10_resume_drill.ipynb"), asked)
        took = time.monotonic() - started
        result = Result.read(out)
        written = sorted(path.name for path in out.iterdir())
    is_well = result.verdict == "ok" and took <= _MOST_SECONDS[title]
    most = _MOST_SECONDS[title]
    print(f"{title:8} {took:5.1f} s (at most {most:g}), {result.verdict}: {' '.join(written)}")
    return is_well


def servers() -> bool:
    """The same with PostgreSQL and S3."""
    with S3Server() as server:
        bucket = server.new_bucket()
        os.environ.update(server.environment(server.owner))
        return notebook("servers", store="postgres", snapshots=f"s3://{bucket}/runs")


def moments(repeat: int, seed: int) -> bool:
    """Points 3 and 4 at moments that are drawn."""
    with tempfile.TemporaryDirectory(prefix="axnb-moments-") as folder:
        started = time.monotonic()
        asked = ResumeOptions(
            policies=(POLICY,),
            points=(3, 4),
            repeat=repeat,
            seed=seed,
            settings=Settings(scratch=Path(folder)),
        )
        result = run(asked)
        took = time.monotonic() - started
        left = [*_processes(folder), *map(str, Path(folder).iterdir())]
    verdicts: Counter[str] = Counter()
    for step in result.steps:
        verdicts.update(step["runs"])
    print(f"moments  {took:5.1f} s for {2 * repeat} rehearsals, {dict(verdicts)}, left: {left}")
    for step in result.steps:
        if step["verdict"] != "ok":
            print(f"  point {step['point']} {step['check']}: {step['observed']}")
    return set(verdicts) == {"ok"} and not left


def _processes(mark: str) -> list[str]:
    found = subprocess.run(["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if mark in line]


def main() -> int:
    """Run all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    # What a first run imports, a second has in memory.
    open_resume_drill([POLICY], "1")
    done = [notebook("sqlite"), servers(), moments(given.repeat, given.seed)]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
