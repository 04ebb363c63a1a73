"""The embedded server writes the rows, and tells its clients what, real servers did.

Each recording in `../shared/ax-logs` (or its part in `tests/data`) of G5 to G8 is done again with
real processes: SIGKILL, SIGTERM, a harness that dies, a client that leaves. `test_races.py` has
what came about by chance.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import ax_logs
from tests.ax_logs import RealLog
from tests.runtimes.stages import Stage, comparable, warnings
from tests.servers import PostgresServer

#: Recorded by the servers whose programs the embedded one stands in for.
WRITTEN = ("g5", "g5b", "g6", "g7", "g8")

#: Done again in every run of the tests.
QUICK = ("g6-builtin-sqlite", "g8-sqlite")

#: In `test_races.py`.
ELSEWHERE = ("two-servers-race", "locked-store", "locked-start", *(f"busy-{n}" for n in range(4)))

#: Where a client left while an output was on its way; the recording has one row more. How many
#: rows there are at least: the input, and the output that the client had when it left.
RACED = {("g6-builtin-postgres", "client-left"): 2}

Rows = Callable[[str], list[tuple[int, str]]]


def _logs(store: str) -> dict[str, RealLog]:
    return {log.name: log for log in ax_logs.written_logs(WRITTEN) if log.name.endswith(store)}


SQLITE, POSTGRES = _logs("-sqlite"), _logs("-postgres")
_SLOW = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(SQLITE)
]


def sqlite_rows(path: Path, column: str) -> Rows:
    """Reads rows of a SQLite log."""

    def read(conversation_id: str) -> list[tuple[int, str]]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            found = connection.execute(
                f"select {column}, payload from conversation_log where conversation_id = ?"
                f" order by {column}",
                (conversation_id,),
            )
            return [(step, comparable(payload)) for step, payload in found]

    return read


def postgres_rows(dsn: str, column: str) -> Rows:
    """Reads rows of a log in PostgreSQL."""
    import psycopg

    def read(conversation_id: str) -> list[tuple[int, str]]:
        query = (
            f"select {column}, payload from conversation_log where conversation_id = %s"
            f" order by {column}"
        )
        with psycopg.connect(dsn) as connection:
            found = connection.execute(query.encode(), (conversation_id,))
            return [(step, comparable(payload)) for step, payload in found]

    return read


def same(got: Any, recorded: Any) -> bool:
    """Is it what the client got? Of a lost connection, in the client's own words, the code is."""
    if isinstance(recorded, list):
        return len(got) == len(recorded) and all(map(same, got, recorded))
    if isinstance(recorded, dict) and "Stream removed" in str(recorded.get("error")):
        code = recorded["error"].partition(":")[0]
        return bool(got["outputs"] == recorded["outputs"] and got["error"].startswith(f"{code}:"))
    return bool(got == recorded)


def warned(log: RealLog) -> Counter[tuple[str, str, str]]:
    """What the recorded servers warned of, but for races."""
    records = []
    for path in log.server_logs:
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line) if line.startswith("{") else {}
            if record.get("level") == "WARN" and record["conversation_id"] not in ELSEWHERE:
                records.append(record)
    return warnings(records)


def differences(stage: Stage, ours: Rows, recorded: Rows) -> str:
    """Every conversation whose rows or answers are not the recorded ones."""
    found = []
    for name, about in stage.log.truth["conversations"].items():
        if "how" not in about or name in ELSEWHERE:
            continue
        got, there = ours(name), recorded(name)
        least = RACED.get((stage.log.name, name))
        if least is not None:
            there = there[: max(least, len(got))]
        if got != there:
            found.append(f"{name}: rows {got[-2:]} are not {there[-2:]}")
        client = stage.played.client[name]
        if not same(client, about["client"]):
            found.append(f"{name}: {client} is not {about['client']}")
        if not same(stage.played.then.get(name, []), about.get("then", [])):
            found.append(f"{name}: then {stage.played.then.get(name)} is not {about['then']}")
    if stage.log.server_logs and stage.warnings() != warned(stage.log):
        found.append(f"warnings {stage.warnings()} are not {warned(stage.log)}")
    return "\n".join(text if len(text) < 900 else f"{text[:900]}..." for text in found)


def test_every_way_of_stopping_is_here() -> None:
    assert {log.partition("-")[0] for log in SQLITE} >= {"g5", "g6", "g8"}


@pytest.mark.parametrize("name", _SLOW)
def test_as_recorded_on_sqlite(name: str, folder: Path) -> None:
    with Stage(SQLITE[name], folder) as stage:
        stage.play()
        column = stage.generation.step_column
        ours = sqlite_rows(folder / "log.sqlite", column)
        assert differences(stage, ours, sqlite_rows(stage.log.sqlite, column)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(POSTGRES))
def test_as_recorded_on_postgres(name: str, folder: Path, postgres: PostgresServer) -> None:
    ours, recorded = postgres.create_database(), postgres.create_database()
    postgres.execute(POSTGRES[name].dump, recorded)
    with Stage(POSTGRES[name], folder, ours) as stage:
        stage.play()
        column = stage.generation.step_column
        there = postgres_rows(recorded, column)
        assert differences(stage, postgres_rows(ours, column), there) == ""


@pytest.mark.parametrize("name", [name for name in QUICK if name.startswith("g8")])
def test_services_that_are_not_there(name: str, folder: Path) -> None:
    with Stage(SQLITE[name], folder) as stage:
        client = stage.second(stage.harness().endpoint)
        recorded = stage.recorded("*services")
        paths = {
            "DeleteConversation": "/ax.ConversationService/DeleteConversation",
            "ExecutionService": "/ax.ExecutionService/Exec",
        }
        for key, path in paths.items():
            assert client.unary(path, b"") == recorded[key][1]
        assert client.say("", "Say hello").as_recorded() == recorded["no id"]
