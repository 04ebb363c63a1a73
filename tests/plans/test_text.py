"""The script as text: what stands in it, what never does, and how clients take it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from axnb.ax.behaviour import Harness
from axnb.ax.versions import GENERATIONS
from axnb.plans.literals import POSTGRES, SQLITE, is_plain
from axnb.plans.notes import ax_command
from axnb.testing.logs import LogBuilder, StoredRow, call, say
from axnb.triaging import Question
from tests.plans.conftest import BOTH, StoreOf
from tests.plans.stores import PostgresStore, SqliteStore, ask, changing
from tests.servers import PostgresServer

REFUSING = Question("G8", (Harness("antigravity", False), Harness("drill", False)))
SECRET = "a secret that strangers wrote"


def _log() -> LogBuilder:
    """One conversation for each thing that a plan does."""
    log = LogBuilder("G8")
    log.turn("fine", SECRET, say(SECRET))
    log.interrupted("stuck", SECRET, say(SECRET))
    log.interrupted("charged", SECRET, call("charge", {"note": SECRET}))
    log.turn("broken", SECRET, say(SECRET))
    log.rows[-2] = StoredRow("broken", 2, SECRET)
    older = LogBuilder("G7", "drill")
    older.turn("owned", SECRET)
    log.rows += older.rows
    return log


@BOTH
def test_no_payload_stands_in_a_plan(store_of: StoreOf) -> None:
    _, script = ask(store_of(_log()), REFUSING)
    assert {s.action for s in changing(script)} == {
        "quarantine",
        "name-owner",
        "read-back-then-unblock",
        "unblock",
    }
    assert SECRET not in script.text
    assert SECRET.encode().hex() not in script.text.lower()


def test_a_plan_is_the_same_every_time(store_of: StoreOf) -> None:
    store = store_of(_log())
    assert ask(store, REFUSING)[1].text == ask(store, REFUSING)[1].text


def test_no_password_stands_in_a_plan(postgres: PostgresServer) -> None:
    store = PostgresStore(postgres)
    _log().write_postgres(store.dsn)
    assert postgres.password not in ask(store, REFUSING)[1].text


def test_nothing_to_do(store_of: StoreOf) -> None:
    log = LogBuilder("G8")
    log.turn("fine", "hi")
    _, script = ask(store_of(log), REFUSING)
    assert all(line.startswith("--") for line in script.text.splitlines())
    assert "Nothing to do." in script.text


def test_what_waits_and_what_undoes_stands_as_comments(store_of: StoreOf) -> None:
    _, script = ask(store_of(_log()), REFUSING)
    for section in changing(script):
        for line in section.undo.splitlines():
            assert f"\n--undo {section.number}> {line}\n" in script.text
    assert len(re.findall(r"^commit;$", script.text, re.MULTILINE)) == 3


# --- clients -------------------------------------------------------------------------------------


def _by_sed(file: Path, what: str, number: int) -> str:
    """Statements that the plan itself says how to print."""
    told = re.search(rf"sed -n '(.*s/\^--{what} N> //p)' FILE", file.read_text())
    assert told is not None
    command = ["sed", "-n", told[1].replace("N>", f"{number}>"), str(file)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the shell sqlite3 is not installed")
def test_the_shell_of_sqlite(tmp_path: Path) -> None:
    store = SqliteStore(_log().write_sqlite(tmp_path / "log.sqlite"))
    before = store.rows()
    _, script = ask(store, REFUSING)
    done = store.shell(script.text, "-bail")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(store.rows()) == len(before)  # one row moved, one added
    file = tmp_path / "plan.sql"
    file.write_text(script.text)
    (waiting,) = [s for s in changing(script) if s.waits]
    assert store.shell(_by_sed(file, "run", waiting.number), "-bail").returncode == 0
    assert len(store.rows()) == len(before) + 1
    for section in reversed(changing(script)):
        undone = store.shell(_by_sed(file, "undo", section.number), "-bail")
        assert (undone.returncode, undone.stderr) == (0, b"")
    assert store.rows() == before


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the shell sqlite3 is not installed")
@pytest.mark.parametrize("asked", ["G8", "G6"])
def test_a_shell_that_goes_on_after_an_error_keeps_nothing(asked: str, tmp_path: Path) -> None:
    """Without -bail: a section that does not fit, and every later one, changes nothing."""
    log = _log()
    log.interrupted("another", "hi")
    store = SqliteStore(log.write_sqlite(tmp_path / "log.sqlite"))
    _, script = ask(store, Question(asked, REFUSING.harnesses))
    log.turn("another", "the log moves on")
    log.add(_end("broken"))
    store.replace(log)
    before = store.rows()
    done = store.shell(script.text)
    assert b"axnb: the log is not as it was read" in done.stderr
    assert store.rows() == before


def _end(conversation: str):  # type: ignore[no-untyped-def]
    from axnb.ax.rows import Row

    return Row(conversation, 3)


def test_psql(postgres: PostgresServer, tmp_path: Path) -> None:
    psql = shutil.which("psql")
    if psql is None:
        pytest.skip("psql is not installed")
    store = PostgresStore(postgres)
    log = _log()
    log.interrupted("a\n\\! touch pwned\n'", "hi")
    log.write_postgres(store.dsn)
    before = store.rows()
    _, script = ask(store, REFUSING)
    file = tmp_path / "plan.sql"
    file.write_text(script.text)

    def run(path: Path) -> subprocess.CompletedProcess[str]:
        command = [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(path), store.dsn]
        environment = {**os.environ, "LC_ALL": "C"}
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )

    done = run(file)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "pwned").exists()
    assert store.rows() != before
    again = run(file)
    assert again.returncode == 3
    assert "axnb: the log is not as it was read" in again.stderr
    for section in reversed([s for s in changing(script) if not s.waits]):
        undone = tmp_path / "undo.sql"
        undone.write_text(_by_sed(file, "undo", section.number))
        assert run(undone).returncode == 0
    assert store.rows() == before


# --- the command line ----------------------------------------------------------------------------

_ASK = ("--ax-version", "G8", "--harness", "antigravity", "--harness", "drill=refuses")


def test_the_command_line(axnb: Callable[..., Result], tmp_path: Path) -> None:
    log = _log().write_sqlite(tmp_path / "log.sqlite")
    result = axnb("triage", log, "--plan", *_ASK)
    assert (result.exit_code, result.stderr) == (1, "")
    _, script = ask(SqliteStore(log), REFUSING)
    assert result.stdout == script.text
    both = axnb("triage", log, "--plan", "--json", *_ASK)
    found = json.loads(both.stdout)
    assert (found["schema"], found["plan"], both.exit_code) == ("axnb.triage/1", script.text, 1)
    assert "plan" not in json.loads(axnb("triage", log, "--json", *_ASK).stdout)


def test_a_plan_for_one_conversation(axnb: Callable[..., Result], tmp_path: Path) -> None:
    log = _log().write_sqlite(tmp_path / "log.sqlite")
    result = axnb("triage", log, "--plan", "--conversation", "stuck", *_ASK)
    assert re.findall(r"^-- (\d+\. .*)", result.stdout, re.MULTILINE) == [
        "1. unblock: conversation stuck (AX110)"
    ]


def test_a_plan_is_for_one_store(axnb: Callable[..., Result], tmp_path: Path) -> None:
    logs = [_log().write_sqlite(tmp_path / f"{name}.sqlite") for name in "ab"]
    result = axnb("triage", *logs, "--plan")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "axnb: a plan is for one log: name one source.\n"


# --- words and literals --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation", "command"),
    [
        ("G3", "ax exec --conversation=c --resume"),
        ("G5b", "ax exec --conversation=c --harness=h --resume"),
        ("G6", "ax --conversation=c --harness=h --resume"),
        ("G7", "ax --conversation=c --harness=h --resume"),
        ("G8", "ax --conversation=c --agent=h --resume"),
    ],
)
def test_commands_of_the_client(generation: str, command: str) -> None:
    owner = None if generation == "G3" else "h"
    assert ax_command(GENERATIONS[generation], "c", "--resume", owner=owner) == command


def test_an_odd_id_is_no_command() -> None:
    assert ax_command(GENERATIONS["G8"], "a'; rm -rf x", "--resume").startswith("(")
    assert ax_command(GENERATIONS["G8"], "a b", "--resume") == "ax '--conversation=a b' --resume"


@pytest.mark.parametrize("text", ["it's", "a\\b", "a;b", "a--b", "a$b", "a\nb", "ä", "a\x00", "*/"])
def test_what_is_odd_becomes_hex(text: str) -> None:
    assert not is_plain(text)
    digits = text.encode().hex()
    assert SQLITE.text(text) == f"cast(x'{digits}' as text)"
    assert POSTGRES.text(text) == f"convert_from(decode('{digits}', 'hex'), 'UTF8')"


def test_what_is_plain_stays_readable() -> None:
    assert SQLITE.text("order-4 of c:1") == POSTGRES.text("order-4 of c:1") == "'order-4 of c:1'"
    assert POSTGRES.identifier("public") == '"public"'
    assert POSTGRES.identifier('a"b') == 'U&"a\\+000022b"'
