"""Comparisons of two conversations and of two sources, against a naive reading."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from axnb.lab.compare import Comparison
from axnb.notebook.workspace import TriageWorkspace
from axnb.testing.logs import LogBuilder, StoredRow, answer, decide, say
from tests.lab.desks import control, desk_of, opened, rows_of, told
from tests.lab.mixed import IDS, logs, mixed


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> TriageWorkspace:
    """Two logs of the same conversations, which differ here and there."""
    other = mixed(1)
    other.rows = [*other.rows[3:], StoredRow("c1", 900, '{"state":"STATE_PENDING"}')]
    return opened(tmp_path_factory.mktemp("compare"), mixed(), other)


def _compare(box: Comparison) -> str:
    control(box.box, "Compare", "Button").click()
    box.task.wait()
    return told(box.box)


def _parts(work: TriageWorkspace, source: str, name: str) -> list[tuple[Any, ...]]:
    return work.case.rows(
        "select step, kind, role, tool, decision, coalesce(is_error, false), "
        "coalesce(text, arguments, result, '') from parts "
        'where source = ? and conversation_id = ? order by position, "row", part',
        [source, name],
    )


def _check_conversations(
    work: TriageWorkspace, one: tuple[str, str], other: tuple[str, str]
) -> None:
    box = Comparison(desk_of(work))
    box._one.follow(one)
    box._other.follow(other)
    said = _compare(box)
    if box._one.value is None or box._other.value is None:
        assert "choose two conversations." in said
        return
    left, right = _parts(work, *one), _parts(work, *other)
    expected = []
    for n in range(max(len(left), len(right))):
        a = left[n] if n < len(left) else None
        b = right[n] if n < len(right) else None
        if a is None or b is None:
            expected.append("only one")
        elif a[1:6] != b[1:6]:
            expected.append("≠ another part")
        else:
            expected.append("= same" if a[6] == b[6] else "≠ another text")
    same = expected.count("= same")
    assert f"{same:,} of {len(expected):,} parts say the same" in said
    assert [row[-1] for row in rows_of(box.box)] == expected[:200]
    assert len(box.frame) == len(expected[:200])
    rejects = "select count(*) from rejects where source = ? and conversation_id = ?"
    ((a,),), ((b,),) = work.case.rows(rejects, list(one)), work.case.rows(rejects, list(other))
    told_of = f"not compared: {a:,} of the first and {b:,} of the second."
    assert (told_of in said) == bool(a or b)


def _check_sources(work: TriageWorkspace, left: str, right: str) -> None:
    box = Comparison(desk_of(work))
    control(box.box, "Compare", "Dropdown").value = "sources"
    box._left.value, box._right.value = left, right
    said = _compare(box)
    texts: dict[str, dict[tuple[str, int | None], Counter[bytes]]] = {left: {}, right: {}}
    for source in texts:
        for name, step, digest in work.case.rows(
            "select conversation_id, step, digest from events where source = ? union all "
            "select conversation_id, step, digest from rejects "
            "where source = ? and conversation_id is not null",
            [source, source],
        ):
            texts[source].setdefault((name, step), Counter())[digest] += 1
    expected: dict[str, list[int]] = {}
    for key in {*texts[left], *texts[right]}:
        a, b = texts[left].get(key, Counter()), texts[right].get(key, Counter())
        same, both = (a & b).total(), min(a.total(), b.total())
        told_of = [same, both - same, a.total() - both, b.total() - both]
        found = expected.setdefault(key[0], [0, 0, 0, 0])
        expected[key[0]] = [x + y for x, y in zip(found, told_of, strict=True)]
    shown = {
        row["conversation_id"]: [row[n] for n in ("same", "other_text", "only_left", "only_right")]
        for row in box.frame.to_dict("records")
    }
    assert shown == expected
    differing = sum(any(counts[1:]) for counts in expected.values())
    assert f"{differing:,} of the {len(expected):,} conversations below differ" in said


@pytest.mark.parametrize("one", IDS[:2])
def test_two_conversations(one: str, work: TriageWorkspace) -> None:
    for other in IDS:
        _check_conversations(work, ("log", one), ("log-2", other))


def test_two_sources(work: TriageWorkspace) -> None:
    _check_sources(work, "log", "log-2")
    _check_sources(work, "log-2", "log")


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(logs(), logs())
def test_any_two(one: LogBuilder, other: LogBuilder) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = opened(Path(folder), one, other)
    _check_sources(work, "log", "log-2")
    for name in IDS:
        _check_conversations(work, ("log", name), ("log-2", name))
    work.case.close()


def test_what_was_approved_is_not_what_was_declined(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.turn("yes", "hi", decide("approved"), answer({"a": 1}, "pay"))
    log.turn("no", "hi", decide("declined"), answer({"a": 1}, "pay", is_error=True))
    work = opened(tmp_path, log)
    box = Comparison(desk_of(work))
    box._one.follow(("log", "yes"))
    box._other.follow(("log", "no"))
    assert "1 of 3 parts say the same" in _compare(box)


def test_more_parts_than_are_shown(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    for name in ("a", "b"):
        log.interrupted(name, "hi", *(say(f"{n}") for n in range(250)))
    work = opened(tmp_path, log)
    box = Comparison(desk_of(work))
    box._one.follow(("log", "a"))
    box._other.follow(("log", "b"))
    said = _compare(box)
    assert "251 of 251 parts say the same" in said
    assert "The first 200 parts are shown." in said


def test_what_cannot_be_compared_is_said(work: TriageWorkspace, tmp_path: Path) -> None:
    box = Comparison(desk_of(work))
    assert "✗ choose two conversations." in _compare(box)
    control(box.box, "Compare", "Dropdown").value = "sources"
    box._right.value = "log"
    assert "✗ choose two different sources." in _compare(box)
    box = Comparison(desk_of(opened(tmp_path, LogBuilder("G8"))))
    control(box.box, "Compare", "Dropdown").value = "sources"
    assert "There is one log only" in told(box.box)
    assert control(box.box, "Compare", "Button").disabled
    control(box.box, "Compare", "Dropdown").value = "conversations"
    assert not control(box.box, "Compare", "Button").disabled


def test_nobody_is_nobody(work: TriageWorkspace) -> None:
    """A conversation that was chosen, and then none."""
    box = Comparison(desk_of(work))
    for label in ("First", "Second"):
        control(box.box, label).value = ("log", "c1")
    control(box.box, "First").value = ("", "")
    assert "✗ choose two conversations." in _compare(box)


def test_a_comparison_can_be_stopped(
    work: TriageWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from axnb.lab import compare

    slow = "select count(*) from range(1000000000) a, range(1000000000) b"

    def ask(session: Any, *_: Any) -> Any:
        # Whoever stops before the query has begun asks again.
        control(box.box, "Stop").click()
        from threading import Thread

        done = False

        def click() -> None:
            while not done:
                control(box.box, "Stop").click()

        Thread(target=click, daemon=True).start()
        try:
            return session.execute(slow).fetchall()
        finally:
            done = True

    box = Comparison(desk_of(work))
    monkeypatch.setattr(compare, "ask", ask)
    control(box.box, "Compare", "Dropdown").value = "sources"
    assert "✗ stopped; what was shown stays." in _compare(box)
    assert box.frame.empty
