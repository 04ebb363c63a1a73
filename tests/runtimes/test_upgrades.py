"""Logs that servers of several generations wrote in turn are written again, row by row.

A file is upgraded, rolled back, put back from a backup, or its column is renamed, and what clients
sent to each server in turn was recorded.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from axnb.ax.versions import GENERATIONS, Generation
from tests import ax_logs
from tests.ax_logs import RealLog
from tests.runtimes.driver import Got, InProcess, Process, write_config
from tests.runtimes.scripted import Scripted
from tests.runtimes.stages import comparable
from tests.runtimes.test_conformance import same

_KILLED = "; kill -9"

Rows = list[tuple[str, int, str]]


def recorded(name: str) -> RealLog:
    """A recorded log."""
    return RealLog(ax_logs.ROOT / name)


def rows(path: Path) -> Rows:
    """All rows of a log, in order."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("select * from conversation_log order by 1, 2").fetchall()
    return [(conversation_id, step, comparable(text)) for conversation_id, step, text in found]


def before(log: RealLog, path: Path, is_older: Callable[[dict[str, Any]], bool]) -> None:
    """A copy of the log with the rows of older servers only."""
    shutil.copyfile(log.sqlite, path)
    with closing(sqlite3.connect(path)) as connection:
        for rowid, text in connection.execute("select rowid, payload from conversation_log"):
            if not is_older(json.loads(text)):
                connection.execute("delete from conversation_log where rowid = ?", (rowid,))
        connection.commit()


def named(log: RealLog, generation: Generation, entry: list[Any]) -> str:
    """Whom a request named: it stands in the error, or in the input row that was logged."""
    conversation_id, _, got = entry
    if "harness ID changed" in (got["error"] or ""):
        return str(got["error"].rpartition(" ")[2])
    if not got["outputs"]:
        return ""
    column = generation.step_column
    with closing(sqlite3.connect(f"file:{log.sqlite}?immutable=1", uri=True)) as connection:
        (text,) = connection.execute(
            f"select payload from conversation_log where conversation_id = ? and {column} = ?",
            (conversation_id, got["outputs"][0][0] - 1),
        ).fetchone()
    return str(json.loads(text).get(generation.owner_key, ""))


def play(
    folder: Path,
    generation: Generation,
    session: list[Any],
    naming: Callable[[list[Any]], str],
    harnesses: str,
) -> list[str]:
    """Send what clients sent to one server; where they get something else."""
    found = []
    with ExitStack() as stack:
        harness = stack.enter_context(Scripted(generation))
        config = write_config(
            folder,
            generation,
            built_in=harness.endpoint if "antigravity" in harnesses else None,
            custom={"drill": harness.endpoint} if "drill" in harnesses else {},
            default=harnesses.split()[0],
        )
        is_killed = any(text.endswith(_KILLED) for _, text, _ in session)
        kind = Process if is_killed else InProcess
        server = stack.enter_context(kind(config, generation))
        for entry in session:
            conversation_id, text, expected = entry
            if text.endswith(_KILLED):
                assert isinstance(server, Process)
                got = kill(server, harness, conversation_id, text, naming(entry), expected)
                server = stack.enter_context(Process(config, generation))
            else:
                got = server.client.say(conversation_id, text, naming=naming(entry))
            if not same(got.as_recorded(), expected):
                found.append(f"{conversation_id} {text}: {got} is not {expected}")
    return found


def kill(
    server: Process,
    harness: Scripted,
    conversation_id: str,
    text: str,
    naming: str,
    expected: dict[str, Any],
) -> Got:
    """Kill a server in the middle of a turn."""
    asked = server.client.ask(conversation_id, text.removesuffix(_KILLED), naming=naming)
    asked.wait_for(len(expected["outputs"]))
    harness.wait(conversation_id)
    server.kill()
    return asked.result()


#: A log, whose rows of older servers stay, the sessions that are played again, and the harnesses.
CASES: dict[str, tuple[Callable[[dict[str, Any]], bool], list[tuple[str, str]], str]] = {
    "lived-g7-g8-sqlite": (
        lambda _: False,
        [("g7", "G7"), ("g8", "G8"), ("g7-again", "G7")],
        "antigravity drill",
    ),
    "upgraded-g6-g8-sqlite": (lambda row: "step" in row, [("g8", "G8")], "antigravity drill"),
    "mixed-seq-sqlite": (
        lambda row: "exec_id" in row,
        [("g5", "G5"), ("g5b", "G5b")],
        "antigravity",
    ),
    "mixed-renamed-sqlite": (lambda row: "step" not in row, [("g6", "G6")], "antigravity"),
}


@pytest.mark.parametrize("name", CASES)
def test_servers_in_turn(name: str, folder: Path) -> None:
    is_older, sessions, harnesses = CASES[name]
    log = recorded(name)
    before(log, folder / "log.sqlite", is_older)
    differs = []
    for session, generation in sessions:
        naming = partial(named, log, GENERATIONS[generation])
        asked = log.truth["sessions"][session]
        differs += play(folder, GENERATIONS[generation], asked, naming, harnesses)
    assert differs == []
    assert rows(folder / "log.sqlite") == rows(log.sqlite)


def test_a_backup_that_is_put_back(folder: Path) -> None:
    log = recorded("restored-sqlite")
    generation = GENERATIONS["G6"]
    path, backup = folder / "log.sqlite", folder / "backup.sqlite"

    def go_on(session: str, expected: str) -> None:
        differs = play(folder, generation, log.truth[session], lambda _: "", "drill")
        assert differs == []
        assert rows(path) == rows(log.folder / expected)

    go_on("before", "backup.sqlite")
    shutil.copyfile(path, backup)
    go_on("lost", "lost.sqlite")
    shutil.copyfile(backup, path)
    go_on("after", "log.sqlite")
