"""Rows that are missing, twice there, out of order, too many, or of two writers at once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from axnb.ax.rows import Row
from axnb.case.case import Case
from axnb.checks.registry import find_check
from axnb.loading import load
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say
from axnb.triaging import Triage, triage
from tests.checks.pairs import Evidence, seen, triage_of


def _sentences(found: Triage, identity: str) -> list[str]:
    return [finding.sentence for finding in found.findings if finding.id == identity]


def _ids(found: Triage) -> set[str]:
    """Classes above info."""
    return {finding.id for finding in found.findings if finding.severity != "info"}


# --- holes ---------------------------------------------------------------------------------------


def test_a_hole_is_named_with_the_last_step_that_is_whole() -> None:
    """A hole in the middle of a log, as after a power loss."""
    log = LogBuilder("G8")
    log.turn("c", "hi", say("a"), say("b"))
    del log.rows[2]
    found = triage_of(log)
    assert _sentences(found, "AX101") == ["step 3 is missing; the history is whole up to step 2."]
    assert found.verdict == "failed"
    assert found.sources[0].parsed == 3, "the rows on both sides were read"
    assert found.conversations[0].state == "finished"


def test_several_holes_are_several_findings() -> None:
    """The first one says how far the history is whole."""
    log = LogBuilder("G6")
    log.turn("c", "hi", *(say(str(n)) for n in range(8)))
    log.rows = [row for row in log.rows if row.step not in (3, 5, 6, 7)]
    assert _sentences(triage_of(log), "AX101") == [
        "step 3 is missing; the history is whole up to step 2.",
        "steps 5 to 7 are missing; the history is whole up to step 4.",
    ]


def test_a_hole_in_one_conversation_is_none_in_another() -> None:
    """Numbers are counted for each conversation by itself."""
    log = LogBuilder("G8")
    for name in ("a", "b"):
        log.turn(name, "hi", say("x"), say("y"))
    log.rows = [row for row in log.rows if (row.conversation_id, row.step) != ("a", 3)]
    assert seen(triage_of(log).findings, "AX101") == [("a", 3, [2, 4])]


def test_holes_in_the_numbers_of_the_table_are_normal(tmp_path: Path) -> None:
    """Transactions that were rolled back, and rows of others that were deleted, burn numbers."""
    log = LogBuilder("G8")
    for name in ("a", "gone", "b"):
        log.turn(name, "hi", say("x"))
    path = log.write_sqlite(tmp_path / "log.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("delete from conversation_log where conversation_id = 'gone'")
        connection.commit()
        rows = connection.execute("select rowid from conversation_log order by rowid").fetchall()
    assert [row for (row,) in rows] == [1, 2, 3, 7, 8, 9]
    with Case(settings=Settings()) as case:
        load(case, [str(path)])
        found = triage(case)
    assert _ids(found) == set()
    assert found.verdict == "ok"


def test_a_lost_append_leaves_no_hole() -> None:
    """Two writers read the same highest number: the row that lost was dropped, its number was not.

    The result without its call is the evidence, and no gap is claimed.
    """
    log = LogBuilder("G8")
    log.turn("c", "hi", answer({"ok": True}, "charge"), say("done"))
    assert [row.step for row in log.rows] == [1, 2, 3, 4]
    found = triage_of(log)
    assert _sentences(found, "AX201") == ["a result of charge for call call_1 has no call."]
    assert seen(found.findings, "AX201") == [("c", 2, [2])]
    assert not _ids(found) & {"AX101", "AX102", "AX103"}
    assert "lost" in find_check("AX201").explanation


# --- one number twice ----------------------------------------------------------------------------


@pytest.mark.parametrize("generation", ["G4", "G6", "G8"])
def test_rows_that_differ_at_one_number_have_no_winner(generation: str) -> None:
    """A stale number was written again: both rows stay, and neither is preferred."""
    log = LogBuilder(generation)
    log.turn("c", "u1")
    other = LogBuilder(generation)
    other.interrupted("c", "u2")
    log.rows.insert(1, other.rows[0])
    found = triage_of(Evidence(log, keyed=False))
    assert seen(found.findings, "AX104") == [("c", 1, [1, 1])]
    assert _sentences(found, "AX105") == []
    witness = next(f.witness for f in found.findings if f.id == "AX104")
    assert len({w.digest for w in witness}) == 2
    assert found.sources[0].parsed == 3
    assert found.verdict == "failed"


@pytest.mark.parametrize("generation", ["G4", "G6", "G8"])
def test_rows_that_say_the_same_at_one_number_are_exact_duplicates(generation: str) -> None:
    """However they are spelled: a build of AX writes a space after each comma, another does not."""
    log = LogBuilder(generation)
    log.turn("c", "u1")
    first = log.rows[0]
    log.rows.append(replace(first, payload=first.payload.replace(",", ", ")))
    found = triage_of(Evidence(log, keyed=False))
    assert seen(found.findings, "AX105") == [("c", 1, [1, 1])]
    assert _sentences(found, "AX104") == []


def test_a_table_that_was_loaded_twice() -> None:
    """Every row is there twice, and no call is counted twice for it."""
    log = LogBuilder("G8")
    log.turn("c", "hi", call("charge"), answer({"ok": True}), say("done"))
    log.rows = [row for row in log.rows for _ in range(2)]
    found = triage_of(Evidence(log, keyed=False))
    assert [step for _, step, _ in seen(found.findings, "AX105")] == [1, 2, 3, 4, 5]
    assert _sentences(found, "AX104") == []
    assert found.conversations[0].calls == {"completed": 1}


# --- one event twice -----------------------------------------------------------------------------


@pytest.mark.parametrize("generation", ["G3", "G6", "G8"])
def test_an_event_under_two_numbers_is_a_double_append(generation: str) -> None:
    """An old writer's slow write and a new writer's both landed: call and result, each twice."""
    log = LogBuilder(generation)
    again = call("charge", {"n": 1}), answer({"ok": True})
    log.turn("c", "hi", *again, *again)
    found = triage_of(log)
    assert seen(found.findings, "AX106") == [("c", 2, [2, 4]), ("c", 3, [3, 5])]
    assert _sentences(found, "AX101") == []


def test_equal_texts_without_an_id_are_no_double_append() -> None:
    """A person says the same twice, and so does an agent."""
    log = LogBuilder("G8")
    log.turn("c", "go on", say("ok"), say("ok"))
    log.turn("c", "go on", say("ok"), say("ok"))
    assert _ids(triage_of(log)) == set()


# --- long, and of two writers --------------------------------------------------------------------


def test_a_history_that_is_long_to_replay_is_told_before_it_stops_anything() -> None:
    """AX reads all of it before each request."""
    log = LogBuilder("G8")
    log.turn("c", "hi", say("a"))
    head, text, end = (row.payload for row in log.rows)
    payloads = [head, *[text] * 19_998, end]
    log.rows = [StoredRow("c", n, payload) for n, payload in enumerate(payloads, 1)]
    found = triage_of(log)
    assert seen(found.findings, "AX109") == [("c", 20_000, [20_000])]
    assert _sentences(found, "AX109")[0].startswith("the conversation has 20000 rows and 2 MiB,")
    assert found.conversations[0].state == "finished"


@pytest.mark.parametrize("generation", ["G3", "G4", "G6", "G8"])
def test_two_writers_at_once_are_seen_and_not_told_apart(generation: str) -> None:
    """Both turns stand in one another: input, input, the outputs of both, two ends."""
    log = LogBuilder(generation)
    log.interrupted("c", "of the first")
    log.interrupted("c", "of the second", say("x"), say("y"))
    log.add(Row("c", 3))
    log.output("c", say("z"))
    log.add(Row("c", 3))
    found = triage_of(log)
    assert seen(found.findings, "AX111") == [("c", 2, [2])]
    assert seen(found.findings, "AX117") == [("c", 6, [6])]
    assert "cannot be told from the log" in " ".join(find_check("AX111").explanation.split())
    assert _sentences(found, "AX101") == []


def test_a_server_log_tells_that_there_was_a_second_writer() -> None:
    """On PostgreSQL the loser's row is refused, and only its server says so."""
    log = LogBuilder("G8")
    log.turn("c", "hi", say("a"))
    line = {
        "time": "2026-08-14T12:00:00Z",
        "level": "WARN",
        "msg": "Failed to log streamed message to event log",
        "conversation_id": "c",
        "error": "eventlog: insert: ERROR: duplicate key value (SQLSTATE 23505)",
    }
    assert _ids(triage_of(log)) == set()
    assert _sentences(triage_of(Evidence(log, server_log=(line,))), "AX118") == [
        "the server could not log 1 output: 23505 (1); at 2026-08-14T12:00:00Z."
    ]
