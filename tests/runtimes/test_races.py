"""What came about by chance in the recordings: locked stores, and two servers on one conversation.

Of a race the recording has one outcome. What holds for every recorded one has to hold for ours, in
50 runs of two real servers, and each has to end in a way that can be.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from axnb.ax.versions import GENERATIONS, Generation
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.runtimes.driver import Process, write_config
from tests.runtimes.scripted import PATIENCE, Scripted
from tests.runtimes.stages import Stage, comparable
from tests.runtimes.test_conformance import (
    POSTGRES,
    SQLITE,
    Rows,
    postgres_rows,
    sqlite_rows,
)
from tests.servers import PostgresServer

RUNS = 50
OUTPUTS = 8

pytestmark = pytest.mark.slow

#: How a client's request can end where two servers run one conversation.
RAN, PENDING, NUMBERED = "ran", "no input messages queued", "23505"

#: What the two clients can get, by the store and by whether the harness takes an empty start.
OUTCOMES = {
    ("sqlite", False): [{RAN}, {RAN, PENDING}],
    ("sqlite", True): [{RAN}],
    ("postgres", False): [{RAN}, {RAN, PENDING}, {RAN, NUMBERED}],
    ("postgres", True): [{RAN}, {RAN, NUMBERED}],
}

#: The servers that race.
RACERS = [
    ("G5", "drill", "postgres"),
    ("G6", "antigravity", "sqlite"),
    ("G6", "drill", "sqlite"),
    ("G8", "antigravity", "sqlite"),
    ("G8", "drill", "sqlite"),
    ("G8", "antigravity", "postgres"),
    ("G8", "drill", "postgres"),
]


# --- a locked store ------------------------------------------------------------------------------


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another writer has the store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("begin immediate")
        yield
        connection.execute("rollback")


def run_locked(log: RealLog, folder: Path) -> tuple[dict[str, Any], dict[str, Any], Rows]:
    """What clients got while another writer held the store, beside what they once got."""
    folder.mkdir()
    recorded = {
        name: log.truth["conversations"][name]["client"]
        for name in ("locked-store", "locked-start")
        if name in log.truth["conversations"]
    }
    got = {}
    with Stage(log, folder) as stage:
        harness = stage.harness()
        client = stage.second(harness.endpoint)
        asking = client.ask("locked-store", "Write while locked").wait_for(1)
        harness.wait("locked-store")
        with locked(folder / "log.sqlite"):
            harness.release("locked-store")
            if "locked-start" in recorded:
                got["locked-start"] = client.say("locked-start", "Say hello").as_recorded()
            lost = sum(number == 0 for number, _ in recorded["locked-store"]["outputs"])
            asking.wait_for(1 + lost)
        got["locked-store"] = asking.result().as_recorded()
        return got, recorded, sqlite_rows(folder / "log.sqlite", stage.generation.step_column)


def test_a_locked_store_loses_outputs_and_the_turn_is_completed(folder: Path) -> None:
    logs = [log for log in SQLITE.values() if "locked-store" in log.truth["conversations"]]
    assert logs
    with ThreadPoolExecutor(len(logs)) as pool:
        found = list(pool.map(lambda log: run_locked(log, folder / log.name), logs))
    for log, (got, recorded, rows) in zip(logs, found, strict=True):
        assert got == recorded, log.name
        column = GENERATIONS[log.truth["written_by"]["generation"]].step_column
        there = sqlite_rows(log.sqlite, column)
        for name in recorded:
            assert rows(name) == there(name), log.name


# --- two servers ---------------------------------------------------------------------------------


def outcome(client: dict[str, Any]) -> str:
    """How a client's request ended."""
    error = client["error"]
    if error is None:
        return RAN
    return next(word for word in (PENDING, NUMBERED) if word in error)


def kind(payload: str) -> str:
    """What a row is: input, end, or the kind of an output as the recordings have it."""
    event = json.loads(payload)
    items = event.get("messages") or event.get("steps") or []
    if not items:
        return "end"
    content = items[0].get("content", items[0])
    role = items[0].get("role") or content.get("role")
    if "tool_call" in content or "tool_result" in content:
        return next(name for name in ("tool_call", "tool_result") if name in content)
    spoken = content["content"][0] if "steps" in event else content
    return "input" if role == "user" else f"text:{spoken['text']['text']}"


def check(
    rows: Sequence[tuple[int, str]], clients: Sequence[dict[str, Any]], store: str, outputs: int
) -> None:
    """What holds for every recorded race."""
    kinds = {number: kind(payload) for number, payload in rows}
    assert list(kinds) == list(range(1, len(rows) + 1)), "a failed append leaves no gap"
    sent = [told for client in clients for told in client["outputs"]]
    numbers = [number for number, _ in sent if number]
    assert len(numbers) == len(set(numbers)), "two clients were told the same number"
    assert all([kinds[number]] == told for number, told in sent if number), "another row"
    logged = [number for number, what in kinds.items() if what not in ("input", "end")]
    assert sorted(numbers) == logged, "what is logged was sent, and the other way round"
    if store == "sqlite":
        assert len(numbers) == len(sent), "SQLite makes writers wait"
    ran = [client for client in clients if outcome(client) == RAN]
    assert all(len(client["outputs"]) == outputs for client in ran), "a client missed something"
    assert list(kinds.values()).count("input") == len(ran), "an input is logged, or all fails"
    assert rows[-1][1].count("STATE_COMPLETED") == 1


def recorded_races() -> Iterator[tuple[RealLog, str]]:
    """Conversations that two servers ran at once."""
    for log in (*SQLITE.values(), *POSTGRES.values()):
        for name in log.truth["conversations"]:
            if name == "two-servers-race" or name.startswith("busy-"):
                yield log, name


def rows_of(log: RealLog, postgres: PostgresServer) -> Rows:
    """Reads rows of a recorded log."""
    column = GENERATIONS[log.truth["written_by"]["generation"]].step_column
    if log.name in SQLITE:
        return sqlite_rows(log.sqlite, column)
    database = postgres.create_database()
    postgres.execute(log.dump, database)
    return postgres_rows(database, column)


def test_what_is_checked_holds_for_every_recorded_race(postgres: PostgresServer) -> None:
    readers: dict[str, Rows] = {}
    count = 0
    for log, name in recorded_races():
        readers.setdefault(log.name, rows_of(log, postgres))
        clients = log.truth["conversations"][name]["client"]
        store = log.name.rpartition("-")[2]
        check(readers[log.name](name), clients, store, 61 if name.startswith("busy") else 81)
        accepts = "custom" in log.name or name.startswith("busy")
        assert {outcome(client) for client in clients} in OUTCOMES[store, accepts]
        count += 1
    assert count >= (14 if ax_logs.IS_WHOLE else 5)


class Race:
    """Two servers on one store."""

    def __init__(self, generation: Generation, harness: str, dsn: str | None, folder: Path) -> None:
        with ExitStack() as stack:
            self._start(stack, generation, harness, dsn, folder)
            self._stack = stack.pop_all()

    def _start(
        self, stack: ExitStack, generation: Generation, harness: str, dsn: str | None, folder: Path
    ) -> None:
        self.scripted = stack.enter_context(Scripted(generation))
        for name in "AB":
            calls = [["call", f"{name}{i}", "step", {"i": i}] for i in range(OUTPUTS - 1)]
            self.scripted.own[f"Busy {name}"] = [*calls, ["text", f"{name} is done"]]
        custom = {"drill": self.scripted.endpoint} if harness == "drill" else {}
        config = write_config(
            folder,
            generation,
            built_in=None if custom else self.scripted.endpoint,
            custom=custom,
            default=harness,
            postgres=dsn,
        )
        self.servers = [stack.enter_context(Process(config, generation)) for _ in "AB"]

    def __enter__(self) -> Race:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, conversation_id: str, ahead: int) -> list[dict[str, Any]]:
        """Both ask, the second in the same instant or once the first has some outputs."""
        first, second = (server.client for server in self.servers)
        if ahead:
            asked = first.ask(conversation_id, "Busy A").wait_for(ahead)
            got = second.say(conversation_id, "Busy B")
            return [asked.result().as_recorded(), got.as_recorded()]
        start = threading.Barrier(2)

        def ask(client: Any, text: str) -> dict[str, Any]:
            start.wait(PATIENCE)
            got: dict[str, Any] = client.say(conversation_id, text).as_recorded()
            return got

        with ThreadPoolExecutor(2) as pool:
            asked_at_once = [pool.submit(ask, first, "Busy A"), pool.submit(ask, second, "Busy B")]
            return [one.result(PATIENCE) for one in asked_at_once]


@pytest.mark.parametrize(("name", "harness", "store"), RACERS)
def test_two_servers_on_one_conversation(
    name: str, harness: str, store: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    generation = GENERATIONS[name]
    column = generation.step_column
    read: Callable[[str], list[tuple[int, str]]] = sqlite_rows(folder / "log.sqlite", column)
    dsn = None
    if store == "postgres":
        dsn = request.getfixturevalue("postgres").create_database()
        read = postgres_rows(dsn, column)
    seen = []
    with Race(generation, harness, dsn, folder) as race:
        for number in range(RUNS):
            conversation_id = f"run-{number}"
            clients = race.run(conversation_id, number % 3)
            check(read(conversation_id), clients, store, OUTPUTS)
            seen.append({outcome(client) for client in clients})
    assert all(one in OUTCOMES[store, harness == "drill"] for one in seen)


def test_canonical_rows_are_compared() -> None:
    assert comparable('{"b": 1.0, "a": "TYPE_JPEG"}') == '{"a":99,"b":1}'
