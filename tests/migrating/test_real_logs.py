"""Logs of real servers: every conversation goes on under the target with its owner and history."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from axnb.ax import rows
from axnb.ax.canonical import canonical
from axnb.ax.conversion import convert
from axnb.ax.versions import GENERATIONS
from axnb.migrating import LossError, Migrated, MigrationOptions, examine, migrate
from tests import ax_logs
from tests.migrating.logs import Key, asked, said, stored
from tests.servers import PostgresServer

#: Ways that are quick enough for `make test`: both answer what happens without a migration.
QUICK = (("mixed-renamed-sqlite", "G6"), ("upgraded-g6-g8-sqlite", "G8"))
WAYS = pytest.mark.parametrize(
    ("log", "target"),
    [
        pytest.param(
            log,
            target,
            id=f"{log.name}-{target}",
            marks=() if (log.name, target) in QUICK else (pytest.mark.slow,),
        )
        for log in ax_logs.sqlite_logs()
        for target in ("G5b", "G6", "G8")
    ],
)
#: Generations side by side, content or owners that the target does not see, executions at odds.
MIXED = {"AX140", "AX141", "AX142", "AX151", "AX152", "AX153"}


def _taken(source: str, place: str, target: str) -> Migrated:
    """Migrate, and accept all that is lost, which must be refused first."""
    would = examine(source, MigrationOptions(target), destination=place)
    if would.losses:
        with pytest.raises(LossError) as refused:
            migrate(source, place, MigrationOptions(target))
        assert refused.value.unaccepted == would.losses
    found = migrate(source, place, MigrationOptions(target, accept=tuple(would.losses)))
    same = ("rows_read", "converted", "as_it_is", "renumbered", "owners", "losses", "generations")
    assert {name: getattr(found, name) for name in same} == {
        name: getattr(would, name) for name in same
    }
    assert found.rows_written == found.rows_read
    return found


def _column(path: Path) -> str:
    return "seq" if b"seq INTEGER" in path.read_bytes() else "step"


@WAYS
def test_every_row_says_what_it_said(log: ax_logs.RealLog, target: str, tmp_path: Path) -> None:
    before, copy = log.sqlite.read_bytes(), tmp_path / "copy.sqlite"
    found = _taken(str(log.sqlite), str(copy), target)
    assert log.sqlite.read_bytes() == before
    assert found.custody["sha256"] == hashlib.sha256(before).hexdigest()
    assert [path.name for path in tmp_path.iterdir()] == ["copy.sqlite"]
    then, now, column = stored(log.sqlite), stored(copy), _column(log.sqlite)
    assert [*now] == [*then]
    generation, kept = GENERATIONS[target], 0
    for key, payload in then.items():
        row, carried = said(payload, column), said(now[key], generation.step_column, generation)
        if row is None or (isinstance(key[1], bytes) and target != "G8"):
            assert now[key] == payload
            kept += 1
            continue
        assert carried is not None, key
        _compare(key, payload, column, row, carried, target)
    assert found.as_it_is == kept


def _compare(
    key: Key, payload: bytes, column: str, row: rows.Row, carried: rows.Row, target: str
) -> None:
    """What is lost of one row is listed for it; all else is the same."""
    found = convert(payload.decode(), column, key[1], GENERATIONS[target])
    assert not row.owner or carried.owner == row.owner, key
    row = replace(row, owner=carried.owner)
    if row.config and not row.config.startswith("{"):
        # G4 keeps an object as base64.
        assert carried.config is None or carried.config.startswith("{")
        row = replace(row, config=carried.config)
    if any("content.content" in path for path in found.losses):
        row = replace(row, content_count=carried.content_count, parts=carried.parts)
    if any("function_result" in path for path in found.losses):
        assert [p.kind for p in row.parts] == [p.kind for p in carried.parts]
        row = replace(row, parts=carried.parts)
    assert carried == row, key


@WAYS
def test_every_conversation_goes_on(log: ax_logs.RealLog, target: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    _taken(str(log.sqlite), str(copy), target)
    original, after = asked(str(log.sqlite), target), asked(str(copy), target)
    before = {c.conversation_id: c for c in original.conversations}
    assert len(after.conversations) == len(before)
    if target != "G5b" and "crafted" not in log.name:
        assert {g for s in after.sources for g in s.generations} <= {target}
        mixed = {f.id for f in after.findings} & MIXED
        assert mixed <= {f.id for f in original.findings} - {"AX140", "AX141", "AX142"}
    for found in after.conversations:
        then = before[found.conversation_id]
        assert found.state == then.state
        assert (found.last_step, found.turns, found.calls) == (
            then.last_step,
            then.turns,
            then.calls,
        )
        if found.state == "unreadable" or found.next.empty == "harness-missing":
            continue
        assert found.next.history == "read"
        assert found.harness or "crafted" in log.name
        assert found.harness == then.harness or then.harness is None
        assert found.next.empty == ("resumes" if found.state == "interrupted" else "nothing")


BACK = [("g6-custom-sqlite", "G8"), ("g8-sqlite", "G6"), ("upgraded-g6-g8-sqlite", "G8")]


@pytest.mark.parametrize(
    ("name", "there"), [pytest.param(*way, marks=pytest.mark.slow) for way in BACK[:2]] + BACK[2:]
)
def test_the_way_there_and_back(name: str, there: str, tmp_path: Path) -> None:
    (log,) = (log for log in ax_logs.sqlite_logs() if log.name == name)
    back = "G6" if there == "G8" else "G8"
    first, second, third = (tmp_path / f"{n}.sqlite" for n in range(3))
    _taken(str(log.sqlite), str(first), back)
    _taken(str(first), str(second), there)
    _taken(str(second), str(third), back)
    start, away, home = stored(first), stored(second), stored(third)
    assert [*start] == [*away] == [*home]
    changed = 0
    for key, payload in start.items():
        lost = [
            *convert(payload.decode(), "step", key[1], GENERATIONS[there]).losses,
            *convert(away[key].decode(), "step", key[1], GENERATIONS[back]).losses,
        ]
        if not lost:
            assert canonical(payload.decode()) == canonical(home[key].decode()), key
        changed += payload != home[key]
    assert (changed > 0) == (name == "g8-sqlite")


@pytest.mark.slow
@pytest.mark.parametrize("log", ax_logs.postgres_logs(), ids=lambda log: log.name)
def test_logs_in_postgresql(log: ax_logs.RealLog, postgres: PostgresServer, tmp_path: Path) -> None:
    source, copy = postgres.create_database(), tmp_path / "copy.sqlite"
    _run(source, log.dump)
    there = postgres.create_database()
    found = _taken(source, there, "G8")
    again = _taken(source, str(copy), "G8")
    assert (found.rows_read, found.digest) == (again.rows_read, again.digest)
    home = _taken(there, str(tmp_path / "home.sqlite"), "G8")
    assert (home.converted, home.digest) == (0, found.digest)
    assert {c.next.history for c in asked(there, "G8").conversations} <= {"read", None}


def _run(dsn: str, script: str) -> None:
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(script.encode())
