"""Stores that a log is taken from and to: whole or not at all, and nothing in place of anything."""

from __future__ import annotations

import hashlib
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from axnb.errors import AxnbError, SourceError, UsageError
from axnb.migrating import (
    LossError,
    Migrated,
    MigrationOptions,
    RefusedRowError,
    examine,
    migrate,
    migration,
    source,
)
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say, think
from tests import ax_logs
from tests.migrating.logs import stored
from tests.servers import PostgresServer

TO_G6 = MigrationOptions("G6")


def log_of(generation: str = "G8", turns: int = 3) -> LogBuilder:
    log = LogBuilder(generation, "drill")
    for n in range(turns):
        log.turn(f"c{n % 4}", f"hi {n}", think("hm"), call("t", {"n": n}), answer({"ok": n}))
        log.turn(f"c{n % 4}", "and?", say("é 送 \n"))
    log.interrupted("open", "hi", call("t"))
    return log


def classes(path: Path, column: str = "step") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(
            f"select rowid, typeof(conversation_id), typeof({column}), typeof(payload) "
            "from conversation_log order by rowid"
        ).fetchall()


def run(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)


# --- what is there already -----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal", "-shm"])
def test_nothing_is_put_in_the_place_of_anything(suffix: str, tmp_path: Path) -> None:
    log, place = log_of().write_sqlite(tmp_path / "log.sqlite"), tmp_path / f"new{suffix}"
    place.write_text("mine")
    with pytest.raises(UsageError, match=rf"new{suffix} exists already"):
        migrate(str(log), str(tmp_path / "new"), TO_G6)
    assert place.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.sqlite", place.name]


def test_what_comes_to_be_meanwhile_is_left_alone(tmp_path: Path) -> None:
    log, place = log_of().write_sqlite(tmp_path / "log.sqlite"), tmp_path / "new"
    with pytest.raises(UsageError, match="has come to be meanwhile"):
        migrate(str(log), str(place), TO_G6, lambda _: place.write_text("mine") and None)
    assert place.read_text() == "mine"
    assert len([*tmp_path.iterdir()]) == 2


def test_a_log_is_not_migrated_into_itself(tmp_path: Path) -> None:
    log = log_of().write_sqlite(tmp_path / "log.sqlite")
    with pytest.raises(UsageError, match="exists already"):
        migrate(str(log), str(log), TO_G6)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    log = log_of().write_sqlite(tmp_path / "log.sqlite")
    with pytest.raises(AxnbError, match="cannot be written: No such file or directory"):
        migrate(str(log), str(tmp_path / "none" / "new"), TO_G6)


# --- rows ----------------------------------------------------------------------------------------


def test_numbers_of_rows_and_their_gaps_are_kept(tmp_path: Path) -> None:
    log, copy = log_of().write_sqlite(tmp_path / "log.sqlite"), tmp_path / "copy.sqlite"
    run(log, "update conversation_log set rowid = 3 * rowid + 100; delete from conversation_log "
        "where conversation_id = 'c1'")  # fmt: skip
    before = classes(log)
    found = migrate(str(log), str(copy), TO_G6)
    assert classes(copy) == before
    assert found.rows_written == len(before)
    assert [*stored(copy)] == [*stored(log)]


def test_a_copy_has_the_table_that_ax_makes(tmp_path: Path) -> None:
    (real,) = (log for log in ax_logs.sqlite_logs() if log.name == "g3-sqlite")
    copy = tmp_path / "copy.sqlite"
    migrate(str(real.sqlite), str(copy), MigrationOptions("G5b"))

    def tables(path: Path) -> list[Any]:
        asking = [
            *(f"pragma table_info({table})" for table in ("conversation_log", "execution_log")),
            "pragma index_list(conversation_log)",
            "pragma index_list(execution_log)",
            "pragma index_info(idx_execution_log_exec_id)",
            "select *, typeof(exec_id), typeof(payload), typeof(timestamp) from execution_log",
            "pragma encoding",
            "pragma journal_mode",
            "pragma integrity_check",
        ]
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            return [database.execute(sql).fetchall() for sql in asking]

    assert tables(copy) == tables(real.sqlite)


def test_classes_that_the_table_can_hold_are_kept(tmp_path: Path) -> None:
    log = log_of("G6", 1)
    payload = log.rows[0].payload
    log.rows += [
        StoredRow("blob", 1, payload.encode()),
        StoredRow(b"\xff", 2, payload),
        StoredRow("torn", "one", b'{"conversation_id":"\xff'),
        StoredRow("number", 1, 7),
    ]
    path, copy = log.write_sqlite(tmp_path / "log.sqlite", typed=False), tmp_path / "copy.sqlite"
    before = classes(path)
    with pytest.raises(RefusedRowError, match="row 1 of conversation number"):
        migrate(str(path), str(copy), MigrationOptions("G8"))
    run(path, "delete from conversation_log where conversation_id = 'number'")
    found = migrate(str(path), str(copy), MigrationOptions("G8"))
    assert classes(copy) == before[:-1]
    assert [(row.conversation_id, row.step) for row in found.as_it_is_first] == [("torn", "one")]
    assert b'"steps"' in stored(copy)[b"blob", 1]


def test_a_text_that_is_none_is_kept(tmp_path: Path) -> None:
    path, copy = log_of("G6", 1).write_sqlite(tmp_path / "log.sqlite"), tmp_path / "copy.sqlite"
    run(path, "update conversation_log set payload = cast(x'7bff7d' as text) where step = 2")
    found = migrate(str(path), str(copy), MigrationOptions("G8"))
    assert classes(copy) == classes(path)
    assert stored(copy)[b"c0", 2] == b"{\xff}"
    assert found.as_it_is_first[0].reason == "the payload is no text in UTF-8"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (StoredRow("c0", 1, "{}"), "row 1 of conversation c0 .*its key is there twice"),
        (StoredRow("x", 5.5, "{}"), None),
        (StoredRow("x", "4", "{}"), "row 4 of conversation x .*would be text,integer,text"),
        (StoredRow(7, 1, "{}"), "row 1 of conversation 7 .*would be text,integer,text"),
        (StoredRow("x", 1, None), "row 1 of conversation x .*its values are text,integer,null"),
        (StoredRow(None, 1, "{}"), "row 1 of conversation None .*its values are null"),
    ],
)
@pytest.mark.parametrize(
    "way",
    [
        lambda log, place, options: migrate(log, str(place), options),
        lambda log, _, options: examine(log, options),
    ],
    ids=["migrate", "examine"],
)
def test_what_the_table_cannot_hold_is_refused(
    row: StoredRow, words: str | None, way: Callable[..., Migrated], tmp_path: Path
) -> None:
    log = log_of("G6", 1)
    log.rows.append(row)
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False, typed=False)
    options = MigrationOptions("G8")
    if words is None:
        assert migrate(str(path), str(tmp_path / "copy"), options).rows_read == len(log.rows)
        return
    with pytest.raises(RefusedRowError, match=words) as refused:
        way(str(path), tmp_path / "copy", options)
    assert refused.value.exit_code == 1
    assert [p.name for p in tmp_path.iterdir()] == ["log.sqlite"]


# --- losses --------------------------------------------------------------------------------------


def test_losses_are_refused_until_each_is_accepted(tmp_path: Path) -> None:
    log = log_of("G8", 1)
    log.turn("d", "hi", call("t"), answer({"a": 1}, is_error=True))
    path, copy = log.write_sqlite(tmp_path / "log.sqlite"), tmp_path / "copy.sqlite"
    run(path, "alter table conversation_log add column session_id text;"
        "alter table conversation_log add column session_step integer;"
        "update conversation_log set session_id = 's' where step = 1")  # fmt: skip
    lost = {"session_id": 3, "steps[].tool_result.function_result.is_error": 1}
    assert examine(str(path), TO_G6).losses == lost
    accepted: tuple[str, ...] = ()
    for one in lost:
        with pytest.raises(LossError, match="nothing was written") as refused:
            migrate(str(path), str(copy), MigrationOptions("G6", accepted))
        assert refused.value.unaccepted == {k: n for k, n in lost.items() if k not in accepted}
        assert (refused.value.exit_code, refused.value.examined.rows_written) == (1, None)
        assert [p.name for p in tmp_path.iterdir()] == ["log.sqlite"]
        accepted = (*accepted, one)
    assert migrate(str(path), str(copy), MigrationOptions("G6", accepted)).losses == lost


def test_other_tables_are_named(tmp_path: Path) -> None:
    path = log_of().write_sqlite(tmp_path / "log.sqlite")
    run(path, "create table notes (a); create view seen as select 1; create table event_log (a)")
    notes = examine(str(path), TO_G6).notes
    assert "Not carried over: event_log, notes, seen." in notes


# --- owners --------------------------------------------------------------------------------------


def test_agents_of_g3_become_owners(tmp_path: Path) -> None:
    log = LogBuilder("G3", "drill")
    log.turn("a", "hi", say("x"))
    log.harness = "__planner"
    log.turn("b", "hi", say("x"))
    path, copy = log.write_sqlite(tmp_path / "log.sqlite"), tmp_path / "copy.sqlite"
    options = MigrationOptions("G8", default_harness="main")
    assert migrate(str(path), str(copy), options).owners == {"drill": 1, "main": 1}
    payloads = stored(copy)
    assert b'"agent_id":"drill"' in payloads[b"a", 1]
    assert b'"agent_id":"main"' in payloads[b"b", 1]
    assert sum(b"agent_id" in payload for payload in payloads.values()) == 2


def test_every_turn_of_a_nameless_conversation_names_its_owner(tmp_path: Path) -> None:
    log = LogBuilder("G5", "antigravity")
    log.turn("c", "one", say("x"))
    log.turn("c", "two", say("x"))
    log.harness = "drill"
    log.turn("d", "one", say("x"))
    path, copy = log.write_sqlite(tmp_path / "log.sqlite"), tmp_path / "copy.sqlite"
    found = migrate(str(path), str(copy), MigrationOptions("G5b"))
    assert (found.owners, found.converted) == ({"antigravity": 1}, 2)
    named = [key for key, payload in stored(copy).items() if b"harness_id" in payload]
    assert named == [(b"c", 1), (b"c", 4), (b"d", 1)]


def test_a_hidden_owner_is_found(tmp_path: Path) -> None:
    """A key may be written with escapes; AX reads it, and so nobody else is named."""
    log = LogBuilder("G5", "antigravity")
    log.turn("c", "one")
    row = log.rows[1]
    hidden = row.payload.replace('"state"', '"\\u0068\\u0061rness_id":"drill","state"')
    log.rows[1] = StoredRow(row.conversation_id, row.step, hidden)
    path, copy = log.write_sqlite(tmp_path / "log.sqlite"), tmp_path / "copy.sqlite"
    assert migrate(str(path), str(copy), MigrationOptions("G8")).owners == {}
    assert b'"agent_id":"drill"' in stored(copy)[b"c", 2]


def _owned(step: int, how: str) -> StoredRow:
    """A row of conversation c that begins a turn, and tells its owner or does not."""
    owner = {"told": '"harness_id":"drill",', "hidden": '"harness\\u005fid":"drill",'}.get(how, "")
    payload = f'{{"conversation_id":"c","seq":{step},{owner}"state":"STATE_PENDING"}}'
    return StoredRow("c", step, payload.encode() if how == "blob" else payload)


_HOWS = ("nothing", "told", "hidden", "blob")


@pytest.mark.parametrize("newest", [0, 1, 1_000])
@pytest.mark.parametrize("hows", [*product(_HOWS, repeat=3)], ids="-".join)
def test_a_guess_of_owners_ends_as_the_search_does(
    hows: tuple[str, ...], newest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogBuilder("G5", "antigravity")
    log.turn("b", "hi", say("x"))
    log.rows += [_owned(step, how) for step, how in enumerate(hows, 1)]
    path = log.write_sqlite(tmp_path / "log.sqlite")
    monkeypatch.setattr(source, "_NEWEST", newest)
    guessed = migrate(str(path), str(tmp_path / "guessed"), MigrationOptions("G5b"))
    monkeypatch.setattr(migration, "guess_names", lambda *_: None)
    searched = migrate(str(path), str(tmp_path / "searched"), MigrationOptions("G5b"))
    assert replace(guessed, destination="") == replace(searched, destination="")
    assert stored(tmp_path / "guessed") == stored(tmp_path / "searched")
    assert searched.owners == {"antigravity": 1 if {"told", "hidden"} & {*hows} else 2}


# --- sources that are not whole ------------------------------------------------------------------


def test_a_log_without_its_wal_is_refused(tmp_path: Path) -> None:
    path = log_of().write_sqlite(tmp_path / "log.sqlite", pragmas=["journal_mode = wal"])
    with pytest.raises(SourceError, match=r"cannot be read whole.*without its -wal"):
        migrate(str(path), str(tmp_path / "copy"), TO_G6)
    assert "copy" not in {p.name for p in tmp_path.iterdir()}


def test_a_wal_is_read(tmp_path: Path) -> None:
    log = log_of("G6", 1)
    path = log.write_sqlite(tmp_path / "log.sqlite", pragmas=["journal_mode = wal"])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("insert into conversation_log values ('new', 1, '{\"state\":3}')")
        writer.commit()
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", tmp_path / f"taken{suffix}")
    found = migrate(str(tmp_path / "taken"), str(tmp_path / "copy"), MigrationOptions("G8"))
    assert found.rows_read == len(log.rows) + 1


@pytest.mark.parametrize("page", [3, 6, 9])
def test_a_torn_page_is_refused(page: int, tmp_path: Path) -> None:
    path = log_of(turns=60).write_sqlite(tmp_path / "log.sqlite")
    raw = bytearray(path.read_bytes())
    raw[page * 4096 : page * 4096 + 2048] = b"\xff" * 2048
    path.write_bytes(raw)
    with pytest.raises(SourceError, match=r"damaged|cannot be read"):
        migrate(str(path), str(tmp_path / "copy"), TO_G6)
    assert [p.name for p in tmp_path.iterdir()] == ["log.sqlite"]


def test_a_hot_journal_is_rolled_back(tmp_path: Path) -> None:
    for path in (ax_logs.ROOT / "hot-journal-sqlite").glob("log.sqlite*"):
        shutil.copy(path, tmp_path)
    found = migrate(str(tmp_path / "log.sqlite"), str(tmp_path / "copy"), MigrationOptions("G8"))
    assert found.rows_read == 29
    assert (tmp_path / "log.sqlite-journal").exists()


def test_a_source_that_moves_is_refused(tmp_path: Path) -> None:
    path = log_of().write_sqlite(tmp_path / "log.sqlite")
    moved = [True]

    def move(_: int) -> None:
        if moved:
            moved.clear()
            run(path, "delete from conversation_log where step = 1")

    with pytest.raises(SourceError, match="changed while it was read"):
        migrate(str(path), str(tmp_path / "copy"), TO_G6, move)
    assert [p.name for p in tmp_path.iterdir()] == ["log.sqlite"]


# --- processes -----------------------------------------------------------------------------------


def test_two_processes_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of("G5", 40)
    log.rows.insert(7, StoredRow("hostile", 1, '{"a":'))
    path = log.write_sqlite(tmp_path / "log.sqlite")
    options = MigrationOptions("G8", default_harness="main")
    alone = migrate(str(path), str(tmp_path / "alone"), options)
    monkeypatch.setattr(source, "_FEW_ROWS", 0)
    monkeypatch.setattr(source, "_RANGE", 30)
    monkeypatch.chdir(tmp_path)
    both = migrate("log.sqlite", "both", options)
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "both").read_bytes()
    same = (
        "digest",
        "rows_written",
        "converted",
        "as_it_is_first",
        "owners",
        "losses",
        "generations",
    )
    assert [getattr(both, name) for name in same] == [getattr(alone, name) for name in same]


_HELD = """
import sys
from axnb.cli.ending import ended_in_order
from axnb.migrating import MigrationOptions, migrate, source

source._FEW_ROWS = source._RANGE = 20
def hold(rows):
    print(rows, flush=True)
    sys.stdin.read()
with ended_in_order():
    migrate(sys.argv[1], sys.argv[2], MigrationOptions("G6"), hold)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_in_the_middle(number: signal.Signals, tmp_path: Path) -> None:
    path = log_of(turns=20).write_sqlite(tmp_path / "log.sqlite")
    before = hashlib.sha256(path.read_bytes()).digest()
    command = [sys.executable, "-c", _HELD, str(path), str(tmp_path / "copy")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes) as held:  # type: ignore[call-overload]
        assert held.stdout.readline()
        held.send_signal(number)
        held.wait(60)
    left = {p.name for p in tmp_path.iterdir()}
    assert "copy" not in left
    assert number == signal.SIGKILL or left == {"log.sqlite"}
    assert migrate(str(path), str(tmp_path / "copy"), TO_G6).rows_written == len(stored(path))
    assert hashlib.sha256(path.read_bytes()).digest() == before


# --- PostgreSQL ----------------------------------------------------------------------------------


def test_there_and_back_through_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    log = log_of("G3", 3)
    path = log.write_sqlite(tmp_path / "log.sqlite")
    run(path, "update execution_log set timestamp = '2026-05-22 10:00:00.123456789 +0000 UTC' "
        "where rowid = 1")  # fmt: skip
    dsn = postgres.create_database()
    _execute(dsn, 'create schema "odd ""one"')
    place = f"{dsn}?schema=odd%20%22one"
    lost = {"execution_log.timestamp": 1}
    with pytest.raises(LossError):
        migrate(str(path), place, MigrationOptions("G6"))
    there = migrate(str(path), place, MigrationOptions("G6", (*lost,)))
    assert (there.losses, there.executions, there.owners) == (lost, 13, {"drill": 4})
    with pytest.raises(UsageError, match="has a table conversation_log already"):
        migrate(str(path), place, MigrationOptions("G6", (*lost,)))
    direct = migrate(str(path), str(tmp_path / "direct"), MigrationOptions("G6"))
    back = migrate(place, str(tmp_path / "back"), MigrationOptions("G6"))
    assert direct.digest == there.digest == back.digest
    assert (back.converted, back.executions) == (0, 13)
    with closing(sqlite3.connect(tmp_path / "back")) as database:
        times = database.execute("select timestamp from execution_log").fetchall()
    assert times[0] == ("2026-05-22 10:00:00.123456 +0000 UTC",)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (StoredRow("c", 2**31, "{}"), "row 2147483648 of conversation c .*too large"),
        (StoredRow("c\0d", 1, "{}"), "keeps no NUL"),
        (StoredRow("c", 1, b"{}"), "its values are text,integer,blob"),
        (StoredRow("c0", 1, "{}"), "row 1 of conversation c0 .*its key is there twice"),
    ],
)
def test_postgresql_refuses(
    row: StoredRow, words: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    log = log_of("G6", 1)
    log.rows.append(row)
    path = log.write_sqlite(tmp_path / "log.sqlite", keyed=False)
    dsn = postgres.dsn()
    with pytest.raises(RefusedRowError, match=words):
        migrate(str(path), dsn, MigrationOptions("G8"))
    assert _execute(dsn, "select to_regclass('conversation_log')") == [(None,)]
    if "twice" not in words:
        with pytest.raises(RefusedRowError, match=words):
            examine(str(path), MigrationOptions("G8"), destination=dsn)


def test_a_schema_that_is_not_there(postgres: PostgresServer, tmp_path: Path) -> None:
    path = log_of().write_sqlite(tmp_path / "log.sqlite")
    with pytest.raises(UsageError, match="has no such schema"):
        migrate(str(path), f"{postgres.dsn()}?schema=none", TO_G6)


def _execute(dsn: str, script: str) -> list[tuple[Any, ...]]:
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        found = connection.execute(script.encode())
        return found.fetchall() if found.description else []
