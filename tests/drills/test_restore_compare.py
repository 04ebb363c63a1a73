"""What a restored log lacks, held against its source and against what others remember."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from axnb.case.case import Case
from axnb.drills.restore.complete import check_loss, check_numbers, check_rows
from axnb.drills.restore.looking import look
from axnb.drills.restore.losing import Loss, find_loss
from axnb.drills.restore.options import RestoreOptions
from axnb.drills.steps import Check
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, answer, call, say
from axnb.triaging import Expectation
from tests.ax_logs import ROOT


def built(path: Path, turns: int = 3) -> Path:
    """Two conversations, turn by turn; each turn of the first charges a card."""
    log = LogBuilder("G8")
    for n in range(turns):
        paid = (
            call("charge_card", {"n": n}, f"call_{n}"),
            answer({"ok": True}, call_id=f"call_{n}"),
        )
        log.turn("pays", f"charge {n}", *paid, say("done"))
        log.turn("talks", f"hello {n}", say("hi"))
    return log.write_sqlite(path)


def compared(
    tmp_path: Path, restored: Path, source: Path | None, **options: Any
) -> tuple[dict[str, Check], Loss]:
    asked = RestoreOptions(
        source=str(source) if source else None,
        backup=restored,
        settings=Settings(scratch=tmp_path, environment={}),
        **options,
    )
    with Case(None, asked.settings) as case:
        looked = look(case, str(restored), asked)
        loss = find_loss(looked)
        return {
            "rows": check_rows(looked),
            "loss": check_loss(looked, loss, asked.rpo_steps),
            "numbers": check_numbers(loss),
        }, loss


def verdicts(checks: dict[str, Check]) -> dict[str, str]:
    return {name: check.verdict for name, check in checks.items()}


def cut(path: Path, wound: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(wound)
    return path


def test_a_copy_lacks_nothing(tmp_path: Path) -> None:
    source = built(tmp_path / "source.sqlite")
    checks, loss = compared(tmp_path, built(tmp_path / "copy.sqlite"), source)
    assert verdicts(checks) == {"rows": "ok", "loss": "ok", "numbers": "ok"}
    assert (loss.rpo_steps, loss.rpo_conversations, loss.rpo_effects) == (0, 0, 0)


def test_another_spelling_is_the_same_row(tmp_path: Path) -> None:
    source, copy = built(tmp_path / "source.sqlite"), built(tmp_path / "copy.sqlite")
    cut(copy, """update conversation_log set payload = replace(payload, ',"', ', "')""")
    assert verdicts(compared(tmp_path, copy, source)[0])["rows"] == "ok"


def test_an_older_backup_loses_its_tail_and_the_effects_in_it(tmp_path: Path) -> None:
    source, older = built(tmp_path / "source.sqlite"), built(tmp_path / "older.sqlite", turns=2)
    checks, loss = compared(tmp_path, older, source)
    assert verdicts(checks) == {"rows": "ok", "loss": "failed", "numbers": "failed"}
    assert loss.steps == {"pays": (11, 12, 13, 14, 15), "talks": (7, 8, 9)}
    assert (loss.rpo_steps, loss.rpo_conversations, loss.rpo_effects) == (8, 0, 1)
    assert "pays steps 12-13 (the tool charge_card)" in checks["numbers"].observed


def test_an_objective_allows_a_loss_and_not_what_somebody_remembers(tmp_path: Path) -> None:
    source, older = built(tmp_path / "source.sqlite"), built(tmp_path / "older.sqlite", turns=2)
    checks, _ = compared(tmp_path, older, source, rpo_steps=8)
    # An effect that only the lost part tells of is not known any more.
    assert verdicts(checks) == {"rows": "ok", "loss": "inconclusive", "numbers": "failed"}
    pays = "delete from conversation_log where conversation_id='pays'"
    checks, _ = compared(tmp_path, cut(older, pays), cut(source, pays), rpo_steps=3)
    assert verdicts(checks) == {"rows": "ok", "loss": "ok", "numbers": "inconclusive"}


def test_a_conversation_that_came_after_the_backup_is_lost_as_a_whole(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("old", "a", say("b"))
    older = log.write_sqlite(tmp_path / "older.sqlite")
    log.turn("new", "a", say("b"))
    checks, loss = compared(tmp_path, older, log.write_sqlite(tmp_path / "source.sqlite"))
    assert verdicts(checks)["rows"] == "ok"
    assert (loss.gone, loss.rpo_steps, loss.rpo_conversations) == (("new",), 3, 1)


_SWAP = """
update conversation_log set step = -step where conversation_id = 'talks' and step in (1, 4);
update conversation_log set step = case step when -1 then 4 else 1 end where step < 0;
"""

WOUNDS: dict[str, tuple[str, str]] = {
    "hole": ("delete from conversation_log where step = 3", "missing between"),
    "early conversation": (
        "delete from conversation_log where conversation_id = 'pays'",
        "written before what it holds are missing",
    ),
    "digit": (
        """update conversation_log set payload = replace(payload, '"n":1', '"n":2')""",
        "other than in the source",
    ),
    "state": (
        """update conversation_log set payload = replace(payload, 'COMPLETED', 'FAILED')
        where step = 5""",
        "other than in the source",
    ),
    "another row": (
        """insert into conversation_log values ('talks', 10, '{"conversation_id":"talks"}')""",
        "not in the source",
    ),
    "swapped": (_SWAP, "other than in the source"),
}


@pytest.mark.parametrize(
    "wound",
    [pytest.param(n, marks=() if n in ("hole", "digit") else pytest.mark.slow) for n in WOUNDS],
)
def test_a_copy_that_is_none_fails(tmp_path: Path, wound: str) -> None:
    source = built(tmp_path / "source.sqlite")
    done, words = WOUNDS[wound]
    checks, _ = compared(tmp_path, cut(built(tmp_path / "copy.sqlite"), done), source)
    assert (checks["rows"].verdict, words in checks["rows"].observed) == ("failed", True)


def test_without_a_source_nothing_tells(tmp_path: Path) -> None:
    checks, loss = compared(tmp_path, built(tmp_path / "copy.sqlite"), None)
    assert set(verdicts(checks).values()) == {"inconclusive"}
    assert (loss.rpo_steps, loss.rpo_effects) == (None, None)


def test_a_cursor_tells_the_least_that_is_lost(tmp_path: Path) -> None:
    cursors = [Expectation("talks", 12), Expectation("pays", 15), Expectation("gone", 2)]
    checks, loss = compared(tmp_path, built(tmp_path / "copy.sqlite"), None, expectations=cursors)
    assert verdicts(checks) == {"rows": "inconclusive", "loss": "failed", "numbers": "failed"}
    assert loss.steps == {"talks": (10, 11, 12), "gone": (1, 2)}
    assert checks["loss"].observed.startswith("at least 5 steps, 1 conversation as a whole")
    fitting, _ = compared(tmp_path, tmp_path / "copy.sqlite", None, expectations=cursors[1:2])
    # It proves no more than that one conversation.
    assert verdicts(fitting)["loss"] == "inconclusive"


def test_a_cursor_that_is_far_away_is_counted_and_not_listed(tmp_path: Path) -> None:
    cursors = [Expectation("pays", 10**17)]
    checks, loss = compared(tmp_path, built(tmp_path / "copy.sqlite"), None, expectations=cursors)
    assert (loss.rpo_steps, len(loss.steps["pays"])) == (10**17 - 15, 10_000)
    assert verdicts(checks)["loss"] == "failed"


def test_a_client_remembers(tmp_path: Path) -> None:
    told = tmp_path / "client.jsonl"
    told.write_text('{"conversation": "talks", "number": 11, "kind": "text", "digest": null}\n')
    source = built(tmp_path / "source.sqlite")
    checks, _ = compared(tmp_path, built(tmp_path / "copy.sqlite"), source, clients=[told])
    assert verdicts(checks) == {"rows": "ok", "loss": "failed", "numbers": "failed"}
    assert checks["numbers"].observed == "will come again: talks steps 10-11 (a client)"


@pytest.mark.parametrize(
    ("source", "others", "steps"),
    [
        # What the drill says beforehand, and what it finds when it has happened.
        ("lost.sqlite", [], {("orders", 8), ("orders", 10), ("lost", 2), ("lost", 4)}),
        ("log.sqlite", ["lost.sqlite"], {("orders", n) for n in range(7, 13)}),
    ],
)
def test_numbers_come_again(
    tmp_path: Path, source: str, others: list[str], steps: set[tuple[str, int]]
) -> None:
    """`restored-sqlite`: a backup was put back, and a real server went on from it."""
    folder = ROOT / "restored-sqlite"
    checks, loss = compared(
        tmp_path,
        folder / "backup.sqlite",
        folder / source,
        others=[str(folder / name) for name in others],
    )
    assert verdicts(checks) == {"rows": "ok", "loss": "failed", "numbers": "failed"}
    past = [pointer for pointer in loss.pointers if pointer.is_past]
    told = {(p.conversation_id, step) for p in past or loss.pointers for step in p.steps}
    assert steps <= told
    assert (told == steps) == bool(others)
    behind = {(call.tool, call.operation_id) for p in loss.pointers for call in p.calls}
    assert ("charge_card", "call_1") in behind
    if others:
        assert ("create_ticket", "call_1") in behind
