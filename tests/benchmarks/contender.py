"""One contender in a process of its own, so that its time and its peak memory are its own.

    python -m tests.benchmarks.contender NAME GENERATION memory|file SOURCE

It prints one JSON object. Imports are not part of the time: they weigh on short runs only, and a
notebook has paid for them long before.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from tests.benchmarks import peers


@dataclass(frozen=True)
class Measured:
    """What one run took; seconds, and MB of 1,000,000 bytes."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    rows: int


def main() -> None:
    """Run one contender and print what it took."""
    name, generation, where, source = sys.argv[1:]
    if name in ("ours", "findings"):
        measured = _ours(where, source, finds=name == "findings")
    else:
        measured = _peer(name, generation, source)
    print(json.dumps(asdict(measured)))


def _peer(name: str, generation: str, source: str) -> Measured:
    peers.load_modules(name, source)
    kept: list[object] = []
    measure = _Clock(lambda: kept.append(peers.PEERS[name](source, generation)))
    return measure.result(peers.rows_of(kept[0]))


def _ours(where: str, source: str, *, finds: bool) -> Measured:
    """The whole call: private copy, hashes, landing, derived tables, commit.

    With `finds` also all that is found: what the checks say of the log, kept in the case, and what
    a triage adds that asks a server.
    """
    from axnb.case.case import Case
    from axnb.evidence.load import load_log
    from axnb.evidence.locators import locate
    from axnb.loading import load as load_and_find
    from axnb.triaging import triage

    store = "postgres" if peers.is_postgres(source) else "sqlite"
    # pyarrow imports pandas when it first makes an array.
    for module in ("pandas", peers.driver(source), f"axnb.evidence.{store}"):
        import_module(module)

    with tempfile.TemporaryDirectory(prefix="axnb-bench-") as folder:
        opened: list[Case] = []

        def load() -> None:
            opened.append(Case(Path(folder) / "case.duckdb" if where == "file" else None))
            if finds:
                load_and_find(opened[0], [source])
                triage(opened[0])
            else:
                load_log(opened[0], locate(source, {}).log)

        measure = _Clock(load)
        ((read, rejected),) = opened[0].rows("select read, rejected from sources")
        assert rejected == 0, "a row that AX could have written was rejected"
        opened[0].close()
        return measure.result(int(read))


class _Clock:
    """Runs something once, by the clock."""

    def __init__(self, run: Callable[[], object]) -> None:
        started, cpu = time.perf_counter(), time.process_time()
        run()
        self._seconds = time.perf_counter() - started
        self._cpu = time.process_time() - cpu
        # Linux counts in KiB, macOS in bytes.
        unit = 1 if sys.platform == "darwin" else 1024
        self._peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6

    def result(self, rows: int) -> Measured:
        return Measured(round(self._seconds, 3), round(self._cpu, 3), round(self._peak), rows)


if __name__ == "__main__":
    main()
