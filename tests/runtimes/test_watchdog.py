"""The watchdog: whom it tells of what, and that it leaves the log alone."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from axnb.ax.rows import Part, Row, write
from axnb.ax.versions import GENERATIONS, Generation
from axnb.runtimes.alerts import AlertReceiver
from axnb.runtimes.processes import Reaper, free_port
from axnb.runtimes.watchdog import Watch
from axnb.runtimes.watched_log import Look, WatchedLog
from tests.runtimes.programs import reaper, start
from tests.servers import PostgresServer

__all__ = ["reaper"]

DATA = Path(__file__).parents[1] / "data"
UP = {"server": False, "actor": False}
PENDING, COMPLETED = 1, 3


def add(log: Path, generation: Generation, conversation_id: str, *states: int) -> None:
    column = generation.step_column
    with closing(sqlite3.connect(log, isolation_level=None)) as file:
        file.execute(
            f"CREATE TABLE IF NOT EXISTS conversation_log (conversation_id TEXT NOT NULL,"
            f" {column} INTEGER NOT NULL, payload TEXT NOT NULL,"
            f" PRIMARY KEY (conversation_id, {column}))"
        )
        (step,) = file.execute(
            f"SELECT coalesce(max({column}), 0) FROM conversation_log WHERE conversation_id = ?",
            [conversation_id],
        ).fetchone()
        for number, state in enumerate(states, step + 1):
            parts = (Part("text", "user", value="secret words"),) if state == PENDING else ()
            payload = write(Row(conversation_id, state, parts=parts), generation, number)
            row = [conversation_id, number, payload]
            file.execute("INSERT INTO conversation_log VALUES (?, ?, ?)", row)


# --- what is due ---------------------------------------------------------------------------------


def due(watch: Watch, look: dict[str, tuple[int, bool]], clock: float, **down: bool) -> list[str]:
    posted = watch.due(Look(look), UP | down, clock)
    return [
        f"{one['labels']['conversation_id']}"
        f" {'ends' if 'endsAt' in one else one['annotations']['summary']}"
        for one in posted
    ]


def test_a_turn_that_goes_on_is_no_alert() -> None:
    watch = Watch(stall=1.0)
    for clock in range(6):
        assert due(watch, {"c": (clock, True), "d": (3, False)}, clock * 0.9) == []


def test_a_turn_without_progress_is_told_once_and_resolved() -> None:
    watch = Watch(stall=1.0)
    assert due(watch, {"c": (3, True)}, 0.0) == []
    assert due(watch, {"c": (3, True)}, 1.0) == [
        "c a turn has no end: no row was added after row 3"
    ]
    assert due(watch, {"c": (3, True)}, 2.0) == []
    assert due(watch, {"c": (4, True)}, 3.0) == []
    assert due(watch, {"c": (5, False)}, 3.1) == ["c ends"]
    assert due(watch, {"c": (5, False)}, 9.0) == []


def test_who_is_down_is_told_at_once_and_only_of_open_turns() -> None:
    watch = Watch(stall=9.0)
    look = {"c": (3, True), "d": (3, False)}
    assert due(watch, look, 0.0, server=True) == ["c a turn has no end: the server does not answer"]
    assert due(watch, look, 0.1, server=True, actor=True) == [
        "c a turn has no end: the server does not answer; the actor does not answer"
    ]
    assert due(watch, look, 0.2) == []
    assert due(watch, {}, 0.3) == ["c ends"]


def test_an_alert_is_told_again_before_it_runs_out() -> None:
    watch = Watch(stall=999.0)
    assert len(due(watch, {"c": (3, True)}, 0.0, actor=True)) == 1
    assert due(watch, {"c": (3, True)}, 59.0, actor=True) == []
    assert len(due(watch, {"c": (3, True)}, 60.0, actor=True)) == 1


def test_what_did_not_arrive_is_due_again() -> None:
    watch = Watch(stall=9.0)
    look, down = Look({"c": (3, True)}), UP | {"server": True}
    first = watch.due(look, down, 0.0)
    watch.not_posted(first)
    again = watch.due(look, down, 0.1)
    assert again == first
    ended = Look({"c": (4, False)})
    watch.not_posted(watch.due(ended, UP, 0.2))
    assert ["endsAt" in one for one in watch.due(ended, UP, 0.3)] == [True]
    assert watch.due(ended, UP, 0.4) == []


# --- what is seen --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["G5", "G6", "G7", "G8"])
def test_states_are_read_as_they_come(tmp_path: Path, name: str) -> None:
    generation, path = GENERATIONS[name], tmp_path / "log.sqlite"
    log = WatchedLog(str(path), generation)
    assert log.look(is_alone=False) == Look()
    add(path, generation, "c", PENDING, PENDING)
    add(path, generation, "d", PENDING, COMPLETED)
    assert log.look(is_alone=False) == Look({"c": (2, True), "d": (2, False)})
    add(path, generation, "c", COMPLETED)
    add(path, generation, "d", PENDING)
    assert log.look(is_alone=False) == Look({"c": (3, False), "d": (3, True)})
    add(path, generation, "c", 0)
    assert log.look(is_alone=False).conversations["c"] == (4, False)


def test_a_log_that_was_put_back_is_read_anew(tmp_path: Path) -> None:
    generation, path = GENERATIONS["G8"], tmp_path / "log.sqlite"
    add(path, generation, "c", PENDING, COMPLETED, PENDING)
    log = WatchedLog(str(path), generation)
    assert log.look(is_alone=False).conversations == {"c": (3, True)}
    path.unlink()
    add(path, generation, "c", PENDING, COMPLETED)
    assert log.look(is_alone=False).conversations == {"c": (2, False)}


def test_another_generation_may_take_over(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    add(path, GENERATIONS["G5"], "c", PENDING)
    assert WatchedLog(str(path), GENERATIONS["G8"]).look(is_alone=False).conversations == {
        "c": (1, True)
    }


def test_rows_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    generation, path = GENERATIONS["G8"], tmp_path / "log.sqlite"
    add(path, generation, "c", PENDING)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("INSERT INTO conversation_log VALUES ('c', 2, '{'), ('c', 3, x'00')")
    assert WatchedLog(str(path), generation).look(is_alone=False) == Look({"c": (3, True)})


# A writer that is killed inside its transaction, with so small a cache that it has written pages.
CUT = """
import os, signal, sqlite3, sys
log = sqlite3.connect(sys.argv[1], isolation_level=None)
log.execute("PRAGMA cache_size = 1")
log.execute("BEGIN IMMEDIATE")
for step in range(100, 400):
    log.execute("INSERT INTO conversation_log VALUES ('c', ?, ?)", [step, "x" * 500])
os.kill(os.getpid(), signal.SIGKILL)
"""


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_hot_journal_is_a_sign_and_is_left_alone(tmp_path: Path) -> None:
    generation, path = GENERATIONS["G8"], tmp_path / "log.sqlite"
    add(path, generation, "c", PENDING, COMPLETED)
    log = WatchedLog(str(path), generation)
    assert log.look(is_alone=False).conversations == {"c": (2, False)}
    add(path, generation, "c", PENDING)
    subprocess.run([sys.executable, "-c", CUT, str(path)], check=False)
    before = _digests(tmp_path)
    assert "log.sqlite-journal" in before
    # The row that was committed before the cut is seen, those of the cut append are not.
    assert log.look(is_alone=False) == Look({"c": (3, True)}, is_cut=True)
    assert _digests(tmp_path) == before


def test_a_journal_that_nobody_ends_is_a_sign_only_without_a_server(tmp_path: Path) -> None:
    generation, path = GENERATIONS["G8"], tmp_path / "log.sqlite"
    add(path, generation, "c", PENDING)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO conversation_log VALUES ('c', 2, '{}')")
        log = WatchedLog(str(path), generation)
        assert log.look(is_alone=False) == Look({"c": (1, True)})
        assert log.look(is_alone=True) == Look({"c": (1, True)}, is_cut=True)


def test_the_log_can_be_written_while_it_is_watched(tmp_path: Path) -> None:
    generation, path = GENERATIONS["G8"], tmp_path / "log.sqlite"
    add(path, generation, "c", PENDING)
    log = WatchedLog(str(path), generation)
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as writer:
        for number in range(2, 30):
            log.look(is_alone=False)
            writer.execute("INSERT INTO conversation_log VALUES ('c', ?, '{}')", [number])


# --- the program ---------------------------------------------------------------------------------


@contextmanager
def listening() -> Iterator[int]:
    with create_server(("127.0.0.1", free_port())) as server:
        yield server.getsockname()[1]


def fires(summary: str) -> Any:
    def holds(alerts: list[dict[str, Any]]) -> bool:
        return any(
            alert["status"]["state"] == "active" and summary in alert["annotations"]["summary"]
            for alert in alerts
        )

    return holds


def test_the_program_raises_and_resolves(reaper: Reaper, tmp_path: Path) -> None:
    generation, path = GENERATIONS["G8"], tmp_path / "log.sqlite"
    add(path, generation, "c", PENDING)
    with AlertReceiver() as receiver, listening() as server, listening() as actor:
        start(
            reaper.group(),
            "watchdog",
            *("--log", path, "--generation", "G8", "--alertmanager", receiver.url),
            *("--server-port", server, "--actor-port", actor, "--stall", 0.1, "--every", 0.02),
            log=tmp_path / "log",
        )
        (alert,) = receiver.wait_for(fires("no row was added after row 1"))
        assert alert["labels"] == {
            "alertname": "AxTurnInterrupted",
            "conversation_id": "c",
            "severity": "critical",
        }
        add(path, generation, "c", COMPLETED)
        receiver.wait_for(lambda alerts: alerts[0]["status"]["state"] == "resolved")
        assert "secret" not in str(receiver.bodies)


@pytest.mark.slow
def test_postgres_is_watched_too(postgres: PostgresServer, tmp_path: Path) -> None:
    generation, dsn = GENERATIONS["G8"], postgres.create_database()
    log = WatchedLog(dsn, generation)
    assert log.look(is_alone=False) == Look()
    postgres.execute(
        "CREATE TABLE conversation_log (conversation_id TEXT NOT NULL, step INTEGER NOT NULL,"
        " payload TEXT NOT NULL, PRIMARY KEY (conversation_id, step));"
        """INSERT INTO conversation_log VALUES ('c', 1, '{"state":"STATE_PENDING"}')""",
        dsn,
    )
    assert log.look(is_alone=False) == Look({"c": (1, True)})
    postgres.execute(
        """INSERT INTO conversation_log VALUES ('c', 2, '{"state":"STATE_COMPLETED"}')""", dsn
    )
    assert log.look(is_alone=False) == Look({"c": (2, False)})
    assert WatchedLog(f"{dsn}-none", generation).look(is_alone=False) == Look()
