"""What the embedded server does next with the recorded logs is what real servers did next.

Every recorded request is sent to a copy of its log, and the table is read before and after it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from axnb.ax.versions import BUILT_IN_HARNESSES, GENERATIONS, Generation
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.runtimes.driver import Client, Got, InProcess, write_config
from tests.runtimes.scripted import Scripted
from tests.servers import PostgresServer

SERVED = ("G5", "G5b", "G6", "G7", "G8")

#: Asked about in every run of the tests: rows of every generation since G6, and odd ones.
QUICK = ("crafted-sqlite",)

#: What a server says of a payload that it cannot decode is worded by protobuf-go.
_UNREADABLE = "eventlog: unmarshal event: proto:"


@dataclass
class Asked:
    """One request to one copy of a log, and what a real server did with it."""

    conversation_id: str
    request: str
    recorded: dict[str, Any]


@dataclass
class Target:
    """A server that was asked, set up again."""

    generation: Generation
    client: Client
    harnesses: list[Scripted] = field(default_factory=list)

    def starts(self, conversation_id: str) -> tuple[list[int], str | None]:
        """How many messages each start carried, and who was asked."""
        found = [
            start
            for harness in self.harnesses
            for start in harness.starts
            if start.conversation_id == conversation_id
        ]
        return [start.count for start in found], found[0].harness_id if found else None

    def forget(self) -> None:
        """Forget all starts."""
        for harness in self.harnesses:
            harness.starts.clear()


def questions(log: RealLog, target: str) -> dict[str, list[Asked]]:
    """The requests to a target, those of one kind together: each kind needs one copy of the log."""
    found: dict[str, list[Asked]] = {}
    for conversation_id, about in log.truth["conversations"].items():
        for request, recorded in about.get("next", {}).get(target, {}).items():
            found.setdefault(request, []).append(Asked(conversation_id, request, recorded))
    return found


@contextmanager
def harnesses(generation: Generation, declared: list[str]) -> Iterator[dict[str, Scripted]]:
    """The declared harnesses, each at a port of its own."""
    with ExitStack() as stack:
        found = {}
        for text in declared:
            name, _, how = text.partition("=")
            scripted = Scripted(generation, accepts=how == "accepts")
            found[name] = stack.enter_context(scripted)
        yield found


@contextmanager
def serving(
    folder: Path, generation: Generation, playing: dict[str, Scripted], **store: Any
) -> Iterator[Target]:
    """A server with these harnesses, the default first."""
    default = next(iter(playing))
    # With AX_SUBSTRATE=1, as the custom servers up to G6 ran, the built-in one is an actor too.
    as_actors = default not in BUILT_IN_HARNESSES and generation.event == "ConversationEvent"
    built_in = None if as_actors else playing.get("antigravity")
    config = write_config(
        folder,
        generation,
        built_in=built_in.endpoint if built_in else None,
        custom={n: h.endpoint for n, h in playing.items() if h is not built_in},
        default=default,
        **store,
    )
    with InProcess(config, generation) as server:
        yield Target(generation, server.client, list(playing.values()))


def does(got: Got, starts: list[int]) -> str:
    """What happened, in the words of the recordings."""
    if got.error is None:
        ran = {(): "nothing", (1,): "new-turn", (0,): "resumes", (0, 1): "resumes-then-new-turn"}
        return ran[tuple(starts)]
    for text, word in (
        ("harness ID changed", "harness-changed"),
        ("failed to get harness", "harness-missing"),
        ("unmarshal event", "unreadable"),
        ("no such column", "wrong-column"),
        ("42703", "wrong-column"),
        ("no input messages queued", "blocked"),
        ("no messages in start", "blocked"),
    ):
        if text in got.error:
            return word
    return got.error


def answer(target: Target, asked: Asked) -> dict[str, Any]:
    """Send a request and say what happened, but for the rows."""
    naming = asked.request.partition(" naming ")[2]
    text = None if asked.request == "empty" else "What now?"
    got = target.client.say(asked.conversation_id, text, naming=naming)
    starts, harness = target.starts(asked.conversation_id)
    if "no input messages queued" in (got.error or ""):
        harness = "antigravity"  # the built-in one's client refuses before anything is sent
    found = {
        "does": does(got, starts),
        "error": got.error,
        "outputs": len(got.outputs),
        "harness_starts": starts,
        "harness": harness,
    }
    return worded(found)


def worded(found: dict[str, Any]) -> dict[str, Any]:
    """Without protobuf-go's own words."""
    error = found.get("error")
    if error and _UNREADABLE in error:
        found = {**found, "error": error[: error.index(_UNREADABLE) + len(_UNREADABLE)]}
    return found


def differences(
    target: Target, asked: list[Asked], before: Counter[str], after: Iterator[Counter[str]]
) -> list[str]:
    """Send all requests; where an answer is not the recorded one."""
    target.forget()
    got = [answer(target, one) for one in asked]
    rows = next(after)
    found = []
    for one, told in zip(asked, got, strict=True):
        told["rows_added"] = rows[one.conversation_id] - before[one.conversation_id]
        for key in ("does", "error", "outputs", "harness_starts", "rows_added", "harness"):
            recorded = worded(one.recorded)
            # Who was asked was recorded since G7.
            if key == "harness" and "seen" not in recorded:
                continue
            if told[key] != recorded.get(key):
                place = f"{one.conversation_id} {one.request}"
                found.append(f"{place} {key}: {told[key]!r} is not {recorded.get(key)!r}")
    return found


def sqlite_rows(path: Path) -> Counter[str]:
    """Rows of each conversation."""
    with closing(sqlite3.connect(path)) as connection:
        query = "select conversation_id, count(*) from conversation_log group by 1"
        return Counter(dict(connection.execute(query).fetchall()))


def ask_sqlite(log: RealLog, target: str, folder: Path) -> tuple[int, list[str]]:
    """Ask one server about a SQLite log; the number of requests, and what differs."""
    generation = GENERATIONS[target.split()[0]]
    count, found = 0, []
    with harnesses(generation, log.truth["targets"][target]["harnesses"]) as playing:
        for number, (request, asked) in enumerate(questions(log, target).items()):
            copy = folder / f"{number}"
            copy.mkdir()
            for path in log.folder.glob("log.sqlite*"):
                shutil.copyfile(path, copy / path.name)
            before = sqlite_rows(copy / "log.sqlite")
            with serving(copy, generation, playing) as server:
                after = (sqlite_rows(path) for path in [copy / "log.sqlite"])
                found += [f"{request}: {d}" for d in differences(server, asked, before, after)]
            count += len(asked)
            shutil.rmtree(copy)
    return count, found


def cases(logs: list[RealLog]) -> list[tuple[str, str]]:
    """Logs and the targets that were asked about them."""
    return [
        (log.name, target)
        for log in logs
        for target in log.truth["targets"]
        if target.split()[0] in SERVED
    ]


_SQLITE = {log.name: log for log in ax_logs.sqlite_logs()}
_POSTGRES = {log.name: log for log in ax_logs.postgres_logs()}
_QUICK = [log for name, log in _SQLITE.items() if name in QUICK]
_REST = [log for name, log in _SQLITE.items() if name not in QUICK]


@pytest.mark.parametrize(("log", "target"), cases(_QUICK))
def test_next_on_odd_rows(log: str, target: str, folder: Path) -> None:
    count, found = ask_sqlite(_SQLITE[log], target, folder)
    assert count > 0
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(("log", "target"), cases(_REST))
def test_next_on_sqlite(log: str, target: str, folder: Path) -> None:
    count, found = ask_sqlite(_SQLITE[log], target, folder)
    assert count > 0
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(("log", "target"), cases(list(_POSTGRES.values())))
def test_next_on_postgres(log: str, target: str, folder: Path, postgres: PostgresServer) -> None:
    import psycopg

    real = _POSTGRES[log]
    generation = GENERATIONS[target.split()[0]]

    def rows(dsn: str) -> Counter[str]:
        query = b"select conversation_id, count(*) from conversation_log group by 1"
        with psycopg.connect(dsn) as connection:
            return Counter(dict(connection.execute(query).fetchall()))

    count, found = 0, []
    with harnesses(generation, real.truth["targets"][target]["harnesses"]) as playing:
        for request, asked in questions(real, target).items():
            database = postgres.create_database()
            postgres.execute(real.dump, database)
            before = rows(database)
            with serving(folder, generation, playing, postgres=database) as server:
                after = (rows(dsn) for dsn in [database])
                found += [f"{request}: {d}" for d in differences(server, asked, before, after)]
            count += len(asked)
    assert count > 0
    assert found == []
