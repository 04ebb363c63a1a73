"""Views without a person: HTML and text only, nothing of a stranger's in them but visible text."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from axnb.lab import fragments
from axnb.lab.conversations import ConversationsView
from axnb.lab.desk import Desk
from axnb.lab.findings import FindingsView
from axnb.lab.summary import SummaryView
from axnb.lab.timeline import TimelineView
from axnb.lab.view import View
from axnb.notebook.workspace import TriageWorkspace
from axnb.result import Finding
from axnb.testing.hostile import hostile_log, hostile_texts
from axnb.testing.logs import LogBuilder, StoredRow, answer, call, say
from axnb.text import is_hidden
from tests.lab.desks import VIEWS, Page, desk_of, opened, page, views

TEXTS = {
    "markup": ("<img src=x onerror=alert(1)>", "</style></td></table><script>", "'\"`", "<!--"),
    "terminal": ("\x1b[31mred\x1b]0;owned\x07", "a\u202eb\u200bc\x9b", "ok\rfailed"),
    "long": ("x" * 5000,),
}


def _failed() -> LogBuilder:
    log = LogBuilder("G6")
    log.turn("fine", "hi", call("pay", {"n": 1}), answer({"ok": True}), say("done"))
    log.interrupted("cut", "hi", call("pay", {"n": 2}))
    return log


def _healthy() -> LogBuilder:
    log = LogBuilder("G8")
    log.turn("fine", "hi", call("pay", {"n": 1}), answer({"ok": True}), say("done"))
    return log


LOGS = {
    "failed": _failed,
    "healthy": _healthy,
    "empty": lambda: LogBuilder("G8"),
    "hostile": lambda: hostile_log(TEXTS, "G8"),
}


@pytest.fixture(scope="module", params=LOGS)
def work(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TriageWorkspace:
    """Each kind of log, opened once."""
    return opened(tmp_path_factory.mktemp(request.param), LOGS[request.param]())


@pytest.mark.parametrize("name", VIEWS)
def test_nobody_gets_more_than_html_and_text(name: str, work: TriageWorkspace) -> None:
    bundle = getattr(work, name)()._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html"}
    assert Page(bundle["text/html"]).check().text.strip()
    assert {c for c in bundle["text/plain"] if is_hidden(c)} <= {"\n"}
    assert len(bundle["text/html"]) < 300_000
    assert len(bundle["text/plain"]) < 60_000


@pytest.mark.slow
def test_every_conversation_of_a_hostile_log_can_be_looked_at(tmp_path: Path) -> None:
    work = opened(tmp_path, hostile_log(TEXTS, "G6"))
    desk, view = desk_of(work), work.timeline()
    assert len(desk.conversations) > 20
    for key in list(desk.conversations):
        desk.choose(key)
        assert page(view).text
        assert not any(is_hidden(c) for t in view.frame["about"] for c in t)


@pytest.mark.slow
@pytest.mark.parametrize(("generation", "begin"), [("G3", 0), ("G8", 1)])
def test_every_hostile_text_in_every_view(generation: str, begin: int, tmp_path: Path) -> None:
    """All texts stand in the first views; each is chosen for a timeline under one generation."""
    work = opened(tmp_path, hostile_log(hostile_texts(), generation))
    for view in views(work):
        page(view)
    desk, timeline = desk_of(work), work.timeline()
    for key in sorted(desk.conversations)[begin::3]:
        desk.choose(key)
        page(timeline)


def test_what_an_empty_log_shows(tmp_path: Path) -> None:
    work = opened(tmp_path, LogBuilder("G8"))
    assert "The case holds no conversation." in page(work.conversations()).text
    assert "The case holds no conversation." in page(work.timeline()).text
    assert "Nothing was found." in page(work.findings()).text
    assert "inconclusive" in page(work.summary()).text


# --- sizes ---------------------------------------------------------------------------------------

HUGE = 20_000


def _finding(conversation: str, step: int | None, n: int = 0) -> Finding:
    sentence = f"step {step} <b>has</b> no end {n}"
    return Finding("AX110", "interrupted-turn", "error", "log", conversation, step, sentence)


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """20,000 conversations with two findings each, and one with 10,000; three ids of 1 MB."""
    desk = desk_of(opened(tmp_path_factory.mktemp("huge"), _failed()))
    one = next(c for c in desk.triage.conversations if c.conversation_id == "cut")
    ids = [f"cut-{n}" for n in range(HUGE)] + [c * 1_000_000 for c in ("é", "<", "\u202e")]
    many = [dataclasses.replace(one, conversation_id=name) for name in ids]
    found = [_finding(name, step) for name in ids for step in (1, 2)]
    found += [_finding("cut", n % 7, n) for n in range(10_000)]
    triage = dataclasses.replace(
        desk.triage, conversations=(one, *many[::-1]), findings=tuple(found)
    )
    return Desk(desk.case, triage, desk.result)


@pytest.fixture(scope="module")
def bundles(huge: Desk) -> dict[type[View], dict[str, str]]:
    """What each view shows of it."""
    kinds = (SummaryView, ConversationsView, FindingsView, TimelineView)
    return {kind: kind(huge)._repr_mimebundle_() for kind in kinds}


@pytest.mark.slow
def test_a_view_is_of_bounded_size(bundles: dict[type[View], dict[str, str]]) -> None:
    for bundle in bundles.values():
        Page(bundle["text/html"]).check()
        assert len(bundle["text/html"]) < 100_000
        assert len(bundle["text/plain"]) < 30_000


@pytest.mark.slow
def test_what_is_not_shown_is_counted(bundles: dict[type[View], dict[str, str]]) -> None:
    shown = Page(bundles[ConversationsView]["text/html"]).text
    assert "50 of 20,004 are shown; frame has all." in shown
    assert "20,004 of 20,004 conversations need attention" in shown
    timeline = Page(bundles[TimelineView]["text/html"]).text
    assert "more findings" in timeline
    assert "the table of findings has them." in timeline
    assert f"… {2 * (HUGE + 3) + 10_000 - 50:,} more rows" in bundles[FindingsView]["text/plain"]


def test_a_row_of_many_calls_and_a_conversation_of_many_rows(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.interrupted("long", "hi", *(say(str(n)) for n in range(2_500)))
    parts = tuple(call("tool", {"a": n}, f"call-{n}") for n in range(300))
    steps = [p.payload for p in _rows_of(parts)]
    inner = ",".join(s.partition('"steps":[')[2].partition("]")[0] for s in steps)
    log.rows.append(StoredRow("many", 1, f'{{"steps":[{inner}],"state":"STATE_PENDING"}}'))
    work = opened(tmp_path, log)
    desk, view = desk_of(work), work.timeline()
    desk.choose(("log", "many"))
    assert len(view.frame) == 300
    assert "… 280 more parts" in page(view).text
    desk.choose(("log", "long"))
    assert "… 2,381 rows between" in page(view).text
    view._most = 2_000
    assert len(view.frame) < 2_001
    assert "… 1,301 rows between" in page(view).text


def _rows_of(parts: tuple[object, ...]) -> list[StoredRow]:
    log = LogBuilder("G8")
    log.interrupted("x", "hi", *parts)  # type: ignore[arg-type]
    return log.rows[1:]


def test_a_table_escapes_its_caption_columns_and_cells() -> None:
    hostile = "</caption></th></td>\"'><img src=x onerror=alert(1)>\x1b[31m"
    table = fragments.table(hostile, [fragments.Column(hostile)], [[hostile]], hostile)
    pieces = [table, fragments.sentence(hostile), fragments.status(hostile, "failed")]
    pieces += [fragments.payload(hostile, hostile, hostile)]
    shown = Page(fragments.page(*pieces))
    assert shown.text.count("<img src=x onerror=alert(1)>") == 9


def test_a_finding_stands_once_below_the_last_row_of_its_step(tmp_path: Path) -> None:
    log = LogBuilder("G8")
    log.interrupted("twice", "hi", call("pay", {"n": 1}))
    log.rows += [log.rows[1], StoredRow("twice", None, log.rows[1].payload)]
    work = opened(tmp_path, log)
    view, found = work.timeline(), work.findings().frame
    shown = page(view).text
    for finding in {*found[found["conversation_id"] == "twice"]["id"]}:
        count = int((found["id"] == finding).sum())
        assert len(re.findall(f"{finding}(?! has)", shown)) == count, finding
    (table,) = re.findall("<tbody>(.*?)</tbody>", view.pieces()[0], re.DOTALL)
    steps = [cells[0] for cells in _cells(table)]
    wounds = [n for n, cells in enumerate(_cells(table)) if re.search("AX[0-9]", cells[2])]
    last = max(n for n, step in enumerate(steps) if step == "2")
    assert wounds
    assert all(n > last or steps[n - 1] == "1" for n in wounds)


def _cells(table: str) -> list[list[str]]:
    rows = re.findall("<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
    return [re.findall("<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
