"""`axnb migrate`: what it says, how it ends, and what cannot be meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from axnb.case.case import Case
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.migrating import MigrationOptions, migrate
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, answer, call, say, think

Run = Callable[..., Result]


def _log(folder: Path, generation: str = "G3") -> Path:
    log = LogBuilder(generation, "drill")
    log.turn("c", "hi", think("hm"), call("t", {"n": 1}), answer({"ok": True}), say("done"))
    log.interrupted("d", "hi", call("t"))
    return log.write_sqlite(folder / "log.sqlite")


def test_a_migration_for_people(axnb: Run, tmp_path: Path) -> None:
    result = axnb("migrate", _log(tmp_path), tmp_path / "new.sqlite", "--to", "G8")
    assert (result.exit_code, result.stderr) == (0, "")
    told, following = result.stdout.split("\n\nNext:  ")
    assert following.startswith("axnb triage ")
    assert told.splitlines() == [
        "log.sqlite   AX log, rows by what they show: G3|G4 8   3 execution rows",
        "target       v0.2.3 (G8), new.sqlite",
        "",
        "✓ OK            8 rows read, 8 written and read back.  8 rewritten, 0 with the same text.",
        "                Owners named where no row named one: drill for 2 conversations.",
    ]


def test_a_dry_run_writes_nothing(axnb: Run, tmp_path: Path) -> None:
    path = _log(tmp_path)
    result = axnb("migrate", path, "--to", "G6", "--dry-run", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["schema"] == "axnb.migrate/1"
    assert (found["rows_read"], found["rows_written"], found["digest"]) == (8, None, None)
    assert (found["owners"], found["losses"], found["unaccepted"]) == ({"drill": 2}, {}, {})
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["new", "--to", "G9"], 2, "'G9' is not known"),
        (["new", "--to", "G5"], 2, "takes no log to G5"),
        (["--to", "G8"], 2, "name a place for the copy"),
        (["log.sqlite", "--to", "G8"], 2, "exists already"),
        (["new", "--to", "G8", "--default-harness", ""], 2, "needs a name"),
    ],
)
def test_what_cannot_be_meant(
    more: list[str], code: int, words: str, axnb: Run, tmp_path: Path
) -> None:
    path = _log(tmp_path)
    result = axnb("migrate", path, *(path if word == "log.sqlite" else word for word in more))
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("target", "shapes"), [("G6", {"G6"}), ("G8", {"G8", "steps"})])
def test_rows_that_came_from_g3_are_read_as_what_they_are(
    target: str, shapes: set[str], tmp_path: Path
) -> None:
    """They keep the id of their execution, and go the fast way all the same."""
    migrate(str(_log(tmp_path)), str(tmp_path / "new"), MigrationOptions(target))
    with Case(settings=Settings()) as case:
        load_log(case, locate(str(tmp_path / "new"), {}).log)
        with case.reading() as session:
            asking = (
                "select fast, shape, exec_id is not null, count(*) from event_rows group by all"
            )
            found = session.execute(asking).fetchall()
    assert {(fast, has_id) for fast, _, has_id, _ in found} == {(True, True)}
    assert {shape for _, shape, _, _ in found} == shapes
