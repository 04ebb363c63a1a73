"""Conversations and findings: filters, pages, and a choice that every view follows."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from axnb.lab import controls
from axnb.lab.conversations import ConversationsView
from axnb.lab.desk import Desk
from axnb.lab.findings import FindingsView
from axnb.lab.timeline import TimelineView
from axnb.notebook.workspace import TriageWorkspace
from axnb.result import Finding
from axnb.testing.logs import LogBuilder, answer, call, say
from tests.lab.desks import control, desk_of, every, opened, rows_of, told, views, widget_of

ODD_IDS = ("", "–", "(empty)", "a\x00b", "a\\u0000b", "<b>", "x" * 1_000_000, "x" * 1_000_000 + "y")


def _log(*ids: str) -> LogBuilder:
    log = LogBuilder("G6")
    for name in ids or [f"c{n:02}" for n in range(60)]:
        log.interrupted(name, "hi", call("pay", {"n": 1}, name))
    log.turn("fine", "hi", call("pay", {"n": 1}), answer({"ok": True}), say("done"))
    return log


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> TriageWorkspace:
    """60 conversations that need attention and one that does not."""
    return opened(tmp_path_factory.mktemp("choosing"), _log())


@pytest.fixture
def desk(shared: TriageWorkspace) -> Desk:
    """A desk of one's own."""
    return Desk(shared.case, shared.triage, shared.result())


def _ids(widget: Any) -> list[str]:
    return [row[0] for row in rows_of(widget)]


def test_pages_of_conversations(desk: Desk) -> None:
    widget = widget_of(ConversationsView(desk))
    seen = [_ids(widget)]
    while not control(widget, "Next ›").disabled:
        control(widget, "Next ›").click()
        seen.append(_ids(widget))
    expected = [c.conversation_id for c in desk.urgent if c.action != "nothing"]
    assert [len(page) for page in seen] == [25, 25, 10]
    assert [name for page in seen for name in page] == expected
    for page in reversed(seen[:-1]):
        control(widget, "‹ Previous").click()
        assert _ids(widget) == page


def test_a_filter_of_conversations(desk: Desk) -> None:
    view = ConversationsView(desk)
    widget = widget_of(view)
    control(widget, "Next ›").click()
    control(widget, "Id contains").value = "c1"
    assert _ids(widget) == [f"c1{n}" for n in range(10)]
    assert list(view.frame["conversation_id"]) == _ids(widget)
    assert list(view.calls["operation_id"]) == _ids(widget)
    control(widget, "What to do").value = "nothing"
    assert "No conversation fits." in told(widget)
    control(widget, "Id contains").value = ""
    assert _ids(widget) == ["fine"]
    control(widget, "What to do").value = "all"
    assert len(view.frame) == 61


def test_a_choice_is_followed_and_does_not_loop(desk: Desk) -> None:
    conversations, timeline = ConversationsView(desk), TimelineView(desk)
    findings = FindingsView(desk)
    place, shown, found = map(widget_of, (conversations, timeline, findings))
    changes: list[object] = []
    desk.on_choice(lambda: changes.append(desk.chosen))
    control(place, "Show below").value = ("log", "c07")
    assert changes == [("log", "c07")]
    assert "c07 log, G6" in told(shown)
    control(shown, "Conversation").value = ("log", "c20")
    assert control(place, "Show below").value == ("log", "c20")
    control(shown, "Find id").value = "fine"
    control(shown, "Conversation").value = ("log", "fine")
    assert control(place, "Show below").value == ("", "")
    label = next(o for o in control(found, "Show its conversation").options if "c03" in o[0])
    control(found, "Show its conversation").value = label[1]
    assert "c03 log, G6" in told(shown)
    assert control(shown, "Conversation").value == ("log", "c03")
    assert [key for _, key in changes] == ["c07", "c20", "fine", "c03"]  # type: ignore[misc]
    control(shown, "Conversation").value = ("", "")
    assert control(shown, "Conversation").value == ("log", "c03")
    assert len(changes) == 4


def test_a_choice_keeps_filter_and_page(desk: Desk) -> None:
    widget = widget_of(ConversationsView(desk))
    control(widget, "What to do").value = "all"
    control(widget, "Next ›").click()
    before = _ids(widget)
    control(widget, "Show below").value = ("log", before[3])
    assert desk.chosen == ("log", before[3])
    assert control(widget, "What to do").value == "all"
    assert _ids(widget) == before


def test_two_sources_with_the_same_ids(tmp_path: Path) -> None:
    work = opened(tmp_path, _log("c1"), _log("c1"))
    desk = desk_of(work)
    place, shown = widget_of(work.conversations()), widget_of(work.timeline())
    assert sorted(_ids(place)) == ["c1 (log)", "c1 (log-2)"]
    control(place, "Show below").value = ("log-2", "c1")
    assert desk.chosen == ("log-2", "c1")
    assert "c1 log-2, G6" in told(shown)
    control(shown, "Conversation").value = ("log", "c1")
    assert "c1 log, G6" in told(shown)


def test_odd_ids_can_be_told_apart_and_chosen(tmp_path: Path) -> None:
    work = opened(tmp_path, _log(*ODD_IDS))
    desk = desk_of(work)
    place, shown = widget_of(work.conversations()), widget_of(work.timeline())
    widget_of(work.findings())
    for box in (control(place, "Show below"), control(shown, "Conversation")):
        labels = [label for label, _ in box.options]
        assert len(set(labels)) == len(labels)
        assert max(map(len, labels)) <= 80
        assert len(labels) >= len(ODD_IDS) + 1
    for name in ODD_IDS:
        control(shown, "Conversation").value = ("log", name)
        assert desk.chosen == ("log", name)
        assert control(place, "Show below").value == ("log", name)
        assert len(told(shown)) < 20_000


def test_labels_are_different_whatever_they_are_made_of() -> None:
    texts = ["", "", "–", "(empty)", "(empty) (2)", "a", "a", "a (2)", "\x1b", "\\u001b"]
    texts += ["y" * 200 + end for end in ("", "z", "")] + ["y" * 500] * 300
    found = controls.choices(texts, range(len(texts)), ("–", -1))
    labels = [label for label, _ in found]
    assert [key for _, key in found] == [-1, *range(len(texts))]
    assert len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 80


# --- findings ------------------------------------------------------------------------------------


def test_findings_are_filtered_and_paged(desk: Desk) -> None:
    view = FindingsView(desk)
    widget = widget_of(view)
    total = len(desk.triage.findings)
    pages = [rows_of(widget)]
    while not control(widget, "Next ›").disabled:
        control(widget, "Next ›").click()
        pages.append(rows_of(widget))
    assert sum(map(len, pages)) == total
    assert len(view.frame) == total
    control(widget, "Class").value = "AX110"
    assert "‹" in control(widget, "‹ Previous").description
    assert {row[0].split()[1] for row in rows_of(widget)} == {"AX110"}
    assert set(view.frame["id"]) == {"AX110"}
    control(widget, "Severity").value = "info"
    assert "No finding fits." in told(widget)
    assert view.frame.empty
    assert str(view.frame["step"].dtype) == "Int64"


def test_a_finding_of_no_conversation_offers_none(desk: Desk) -> None:
    findings = (
        Finding("AX110", "interrupted-turn", "error", "log", None, None, "the source"),
        Finding("AX110", "interrupted-turn", "error", "log", "remembered", 1, "not there"),
        Finding("AX110", "interrupted-turn", "error", "log", "c01", 1, "there"),
    )
    triage = dataclasses.replace(desk.triage, findings=findings)
    widget = widget_of(FindingsView(Desk(desk.case, triage, desk.result)))
    labels = [label for label, _ in control(widget, "Show its conversation").options]
    assert labels == ["–", "AX110 c01 step 1"]


def test_another_case_with_as_many_findings_is_shown_anew(tmp_path: Path, desk: Desk) -> None:
    view = FindingsView(desk)
    widget = widget_of(view)
    control(widget, "Class").value = "AX110"
    other = opened(tmp_path, _log(*(f"d{n:02}" for n in range(60))))
    fresh = desk_of(other)
    # The shared case is needed again.
    desk.case = fresh.case
    desk.replace(fresh.case, fresh.triage, fresh.result)
    assert all(row[1].startswith("d") for row in rows_of(widget))
    assert view.frame["conversation_id"][0].startswith("d")


# --- with a person -------------------------------------------------------------------------------


def test_every_control_has_a_label(shared: TriageWorkspace) -> None:
    for view in views(shared):
        for widget in every(widget_of(view)):
            if hasattr(widget, "disabled"):
                assert widget.description
                assert not getattr(widget, "description_allow_html", False)


def test_a_widget_comes_with_html_and_text(
    shared: TriageWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("axnb.lab.view.has_person", lambda: True)
    for view in views(shared):
        bundle = view._repr_mimebundle_()
        assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
        assert bundle["text/plain"] == view.text()
        assert 'class="axnb"' in bundle["text/html"]


def test_without_ipywidgets_there_is_a_sentence(
    shared: TriageWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("axnb.lab.view.has_person", lambda: True)
    monkeypatch.setattr("axnb.lab.view.has_widgets", lambda: False)
    for view in views(shared):
        bundle = view._repr_mimebundle_()
        assert bundle.keys() == {"text/plain", "text/html"}
        assert "Widgets need ipywidgets: install axnb[lab]." in bundle["text/html"]
