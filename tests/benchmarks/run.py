"""Load a log of N events, beside the peers, and say which targets are met.

    python -m tests.benchmarks.run --events 1000000 --store both
    python -m tests.benchmarks.run --events 5000000 --only ours

Contenders take turns, each in a fresh process, and the median counts: a machine that is busy for a
while hits all of them alike. With `--only ours` and more than a million events the load is compared
with one of a million instead. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.build_log import GENERATIONS

CONTENDERS = ("ours", "findings", "normalize", "loop", "adbc", "bare", "scan")
_BASE = 1_000_000
_ROOT = Path(__file__).parents[2]

_TITLES = {
    "ours": "axnb: custody, digests, all derived tables",
    "findings": "the same, and all findings of a triage",
    "normalize": "pandas read_sql + json_normalize",
    "loop": "pandas read_sql + json.loads loop",
    "adbc": "the same loop, read_sql through ADBC",
    "bare": "ADBC + one json_transform",
    "scan": "the store's own full read",
    "triage": "axnb triage --conversation, from the shell",
    "show": "axnb show --case, inside the process",
}


@dataclass(frozen=True)
class Median:
    """What the runs of one contender took; seconds, and MB of 1,000,000 bytes."""

    seconds: float
    fastest: float
    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Target:
    """A promise, and whether this run kept it."""

    sentence: str
    met: bool

    def __str__(self) -> str:
        return f"{'ok    ' if self.met else 'MISSED'}  {self.sentence}"


# --- targets ---------------------------------------------------------------------------------


def load_targets(found: Mapping[str, Median]) -> list[Target]:
    """Ours beside the peers, of one store."""
    targets = []
    ours = found["ours"].seconds
    for name, least in (("normalize", 10.0), ("loop", 3.0)):
        if name in found:
            times = found[name].seconds / ours
            sentence = f"{times:.1f}x as fast as {_TITLES[name]} (at least {least:g}x)"
            targets.append(Target(sentence, times >= least))
    if "findings" in found:
        times = (found["findings"].seconds - ours) / ours
        sentence = f"{times:.2f}x the time of the load for all findings (at most 1.5x)"
        targets.append(Target(sentence, times <= 1.5))
    if "bare" in found:
        times = ours / found["bare"].seconds
        sentence = f"{times:.2f}x the time of {_TITLES['bare']} (at most 3.5x)"
        targets.append(Target(sentence, times <= 3.5))
    return targets


def size_targets(events: int, large: Median, base: Median) -> list[Target]:
    """Is a large load as linear and as small as it must be?"""
    factor, most = large.seconds / base.seconds, 1.1 * events / _BASE
    return [
        Target(f"{factor:.2f}x the time of {_BASE:,} events (at most {most:.2g}x)", factor <= most),
        Target(f"{large.peak_mb:,.0f} MB at the peak (under 1,200 MB)", large.peak_mb < 1200),
    ]


def triage_target(seconds: float) -> Target:
    """One conversation of a large PostgreSQL log, from the shell."""
    return Target(f"{seconds:.2f} s for {_TITLES['triage']} (under 1.5 s)", seconds < 1.5)


def show_target(seconds: float) -> Target:
    """One conversation of a case file that holds a large log."""
    return Target(f"{seconds:.2f} s for {_TITLES['show']} (under 0.3 s)", seconds < 0.3)


# --- runs ------------------------------------------------------------------------------------


def measure(
    names: list[str], source: str, events: int, asked: argparse.Namespace
) -> dict[str, Median]:
    """Medians of all contenders on one log."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for turn in range(asked.repeat):
        for name in names:
            _say(f"{name}, run {turn + 1} of {asked.repeat}")
            found = _run_once(name, source, asked)
            if found["rows"] != events:
                raise SystemExit(f"{name} found {found['rows']:,.0f} rows of {events:,}.")
            runs[name].append(found)
    return {name: _median(found) for name, found in runs.items()}


def _run_once(name: str, source: str, asked: argparse.Namespace) -> dict[str, float]:
    command = ["tests.benchmarks.contender", name, asked.generation, asked.our_case, source]
    ended = subprocess.run(
        [sys.executable, "-m", *command], cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if ended.returncode != 0:
        raise SystemExit(f"{name} failed with exit code {ended.returncode}.")
    found: dict[str, float] = json.loads(ended.stdout)
    return found


def _median(runs: list[dict[str, float]]) -> Median:
    seconds = [run["seconds"] for run in runs]
    return Median(
        seconds=statistics.median(seconds),
        fastest=min(seconds),
        cpu_seconds=statistics.median(run["cpu_seconds"] for run in runs),
        peak_mb=max(run["peak_mb"] for run in runs),
    )


def measure_triage(source: str, conversation: str, repeat: int) -> float:
    """Median seconds of the shell command, start of Python and imports included.

    A first run, which compiles modules and warms the disk's cache, does not count.
    """
    command = [*_axnb(), "triage", source, "--conversation", conversation, "--json"]
    took = []
    for turn in range(repeat + 1):
        _say(f"triage, run {turn} of {repeat}" if turn else "triage, once to warm up")
        started = time.perf_counter()
        ended = subprocess.run(
            command,
            cwd=tempfile.gettempdir(),
            env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        took.append(time.perf_counter() - started)
        _check_triage(ended, conversation)
    return statistics.median(took[1:])


def measure_show(source: str, folder: Path) -> float:
    """Median seconds of some conversations of a case file, in a process of its own."""
    _say("show, on a case file")
    with tempfile.TemporaryDirectory(prefix="axnb-bench-", dir=folder) as room:
        command = ["tests.benchmarks.show", str(Path(room) / "case.duckdb"), source]
        ended = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found: dict[str, float] = json.loads(ended.stdout)
    print(f"{_TITLES['show']:44}{found['seconds']:9.2f}   slowest {found['worst']:.2f}")
    return found["seconds"]


def _check_triage(ended: subprocess.CompletedProcess[str], conversation: str) -> None:
    # 1 and 3 are verdicts of the log, not failures of the command.
    if ended.returncode not in (0, 1, 3):
        raise SystemExit(f"axnb triage failed with exit code {ended.returncode}.")
    answer: dict[str, Any] = json.loads(ended.stdout)
    ids = [found["conversation_id"] for found in answer["conversations"]]
    if ids != [conversation]:
        raise SystemExit(f"axnb triage answered for {len(ids)} conversations.")


def _axnb() -> list[str]:
    """The command beside this Python, on the PATH, or as a module of this checkout."""
    beside = Path(sys.executable).with_name("axnb")
    if beside.exists():
        return [str(beside)]
    if found := shutil.which("axnb"):
        return [found]
    code = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from axnb.cli import main; main()"
    return [sys.executable, "-c", code]


# --- logs ------------------------------------------------------------------------------------


def _build(target: str, events: int, generation: str) -> None:
    """In a process of its own: a child's peak memory begins with that of its parent."""
    _say(f"building a log of {events:,} events ({generation})")
    command = ["tests.benchmarks.build_log", "--events", str(events), "--generation", generation]
    subprocess.run([sys.executable, "-m", *command, target], cwd=_ROOT, check=True)


@contextmanager
def sqlite_log(folder: Path, events: int, generation: str) -> Iterator[str]:
    """A SQLite log in a folder; one that lies there already is used again."""
    path = folder / f"log-{generation}-{events}.sqlite"
    if not path.exists():
        _build(str(path), events, generation)
    yield str(path)


@contextmanager
def postgres_log(events: int, generation: str) -> Iterator[str]:
    """A PostgreSQL log in a server of its own."""
    from tests.servers import PostgresServer

    with PostgresServer() as server:
        dsn = server.create_database()
        _build(dsn, events, generation)
        yield dsn


def _some_conversation(source: str) -> str:
    sql = "select conversation_id from conversation_log limit 1"
    if source.startswith("postgresql://"):
        import psycopg

        with psycopg.connect(source) as server:
            row = server.execute(sql.encode()).fetchone()
            assert row is not None
            return str(row[0])
    import sqlite3

    with sqlite3.connect(source) as connection:
        return str(connection.execute(sql).fetchone()[0])


# --- the report ------------------------------------------------------------------------------


def print_table(title: str, found: Mapping[str, Median]) -> None:
    """One line a contender, with its time as a multiple of ours."""
    ours = found["ours"].seconds if "ours" in found else None
    print(f"\n{title}")
    print(f"{'':44}{'median s':>9}{'best s':>8}{'CPU s':>8}{'peak MB':>9}{'to ours':>9}")
    for name, one in found.items():
        ratio = f"{one.seconds / ours:8.2f}x" if ours else ""
        print(
            f"{_TITLES[name]:44}{one.seconds:9.2f}{one.fastest:8.2f}{one.cpu_seconds:8.2f}"
            f"{one.peak_mb:9,.0f}{ratio:>9}"
        )


def _say(text: str) -> None:
    print(f"  {text} …", file=sys.stderr, flush=True)


def _beside_peers(store: str, source: str, asked: argparse.Namespace) -> list[Target]:
    names = asked.only or list(CONTENDERS)
    found = measure(names, source, asked.events, asked)
    print_table(f"{store}, {asked.events:,} events of {asked.generation}", found)
    targets = load_targets(found) if "ours" in found else []
    if asked.triage:
        seconds = measure_triage(source, _some_conversation(source), asked.repeat)
        if store == "postgres":
            targets.append(triage_target(seconds))
        else:
            print(f"{_TITLES['triage']:44}{seconds:9.2f}")
    return targets


def _beside_a_million(
    store: str, source: str, folder: Path, asked: argparse.Namespace
) -> list[Target]:
    large = measure(["ours"], source, asked.events, asked)
    with _log(store, folder, _BASE, asked.generation) as small:
        base = measure(["ours"], small, _BASE, asked)
    print_table(f"{store}, {asked.events:,} events of {asked.generation}", large)
    print_table(f"{store}, {_BASE:,} events of {asked.generation}", base)
    return size_targets(asked.events, large["ours"], base["ours"])


def _log(store: str, folder: Path, events: int, generation: str) -> Any:
    if store == "sqlite":
        return sqlite_log(folder, events, generation)
    return postgres_log(events, generation)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--events", type=int, default=_BASE)
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--repeat", type=int, default=3, help="runs a contender; the median counts")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, help="these contenders, not all")
    parser.add_argument("--our-case", choices=("memory", "file"), default="memory")
    parser.add_argument("--generation", choices=GENERATIONS, default="G8")
    parser.add_argument(
        "--no-triage", dest="triage", action="store_false", help="without the shell"
    )
    parser.add_argument(
        "--no-show", dest="show", action="store_false", help="without one conversation of a case"
    )
    parser.add_argument("--folder", type=Path, help="where SQLite logs are kept for the next run")
    return parser.parse_args()


def main() -> int:
    """Run what was asked for and print it; 1 if a target is missed."""
    asked = _arguments()
    targets: list[Target] = []
    with ExitStack() as stack:
        folder = asked.folder
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="axnb-bench-")))
        for store in ("sqlite", "postgres") if asked.store == "both" else (asked.store,):
            with _log(store, folder, asked.events, asked.generation) as source:
                if asked.only == ["ours"] and asked.events > _BASE:
                    met = _beside_a_million(store, source, folder, asked)
                else:
                    met = _beside_peers(store, source, asked)
                if asked.show:
                    met.append(show_target(measure_show(source, folder)))
            if asked.events < _BASE:
                print(f"The targets are for {_BASE:,} events and more: at fewer, start-up decides.")
                continue
            for target in met:
                print(target, flush=True)
            targets += met
    return 0 if all(target.met for target in targets) else 1


if __name__ == "__main__":
    sys.exit(main())
