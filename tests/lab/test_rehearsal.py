"""The views of a restore drill: its checks, what is lost, what to read back; with and without a
person."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from axnb.lab.desk import RehearsalDesk
from axnb.lab.rehearsal import (
    ChecksView,
    ForgottenView,
    LostItemsView,
    PhasesView,
    RestoreChoiceView,
)
from axnb.lab.summary import SummaryView
from axnb.lab.view import View
from axnb.report.restore_view import MOST_LINES
from axnb.result import Result
from axnb.text import is_hidden
from tests.lab.desks import control, rows_of, told
from tests.lab.desks import page as page_of
from tests.report.made import MARKUP, by_hand
from tests.report.made_restore import (
    bad_backup,
    conversation,
    migration_result,
    restore_result,
    whole_restore,
)

CHOSEN = {
    "source": "log.sqlite",
    "backup": "backup.sqlite",
    "beside": ["lost.sqlite"],
    "snapshots": "",
    "snapshots_backup": "",
    "records": [],
    "rpo_steps": 0,
}


def _choice(desk: RehearsalDesk, opener: Any = lambda *_: "") -> RestoreChoiceView:
    return RestoreChoiceView(desk, dict(CHOSEN), "Nothing was written.", opener)


def _views(desk: RehearsalDesk) -> list[View]:
    shown = (ChecksView, LostItemsView, ForgottenView, PhasesView, SummaryView)
    return [_choice(desk), *(view(desk) for view in shown)]  # type: ignore[abstract]


def _hostile() -> Result:
    text = "".join(MARKUP)
    whole: Any = json.loads(json.dumps(restore_result().as_dict()))
    for one in (*whole["answer"]["conversations"], *whole["answer"]["again"]):
        one["conversation_id"] += text
    for one in whole["answer"]["again"]:
        one["who"] = text
        for call in one["calls"]:
            call.update(tool=text, operation_id=text, outcome=text)
    for call in whole["unresolved"]["calls"]:
        call.update(tool=text, operation_id=text, conversation_id=text)
    for step in whole["steps"]:
        step.update(observed=text, expected=text, evidence=[{"kind": text, text: text}])
    made = replace(restore_result(), answer=whole["answer"], unresolved=whole["unresolved"])
    return replace(made, steps=tuple(whole["steps"]))


RESULTS = {
    "restore": restore_result,
    "whole": whole_restore,
    "bad": bad_backup,
    "migration": migration_result,
    "none": by_hand,
    "hostile": _hostile,
}


@pytest.mark.parametrize("name", RESULTS)
def test_nobody_gets_more_than_html_and_text(name: str) -> None:
    for view in _views(RehearsalDesk(RESULTS[name]())):
        bundle = view._repr_mimebundle_()
        assert bundle.keys() == {"text/plain", "text/html"}
        assert page_of(view).text.strip()
        assert {c for c in bundle["text/plain"] if is_hidden(c)} <= {"\n"}
        assert len(bundle["text/html"]) < 300_000


def test_frames_have_a_row_a_check_a_conversation_and_a_call() -> None:
    desk = RehearsalDesk(restore_result())
    checks = ChecksView(desk).frame
    assert len(checks) == len(desk.result.steps)
    assert [*checks[checks["verdict"] == "failed"]["check"]] == ["loss", "numbers"]
    lost = LostItemsView(desk).frame.set_index("conversation_id")
    assert lost.loc["orders", "twice"] == "7-10"
    assert lost.loc["ahead", "relation"] == "snapshot-ahead"
    calls = ForgottenView(desk).frame
    assert [*calls["step"]] == [8, 9, 9, 2]
    phases = PhasesView(desk).frame
    assert phases[phases["counts"]]["seconds"].sum() == pytest.approx(2.51)


def test_a_person_filters_checks_by_word_and_verdict() -> None:
    widget = ChecksView(RehearsalDesk(restore_result())).widget()
    assert "7 checks: 2 failed" in told(widget)
    assert "first-write" in told(widget)
    control(widget, "Word").value = "complete"
    assert "first-write" not in told(widget)
    assert "9 rows of 2 conversations" in told(widget)
    control(widget, "Checks").value = True
    assert "9 rows of 2 conversations" not in told(widget)
    assert [row[0] for row in rows_of(widget)] == ["loss", "numbers"]


def test_a_person_filters_what_is_lost() -> None:
    view = LostItemsView(RehearsalDesk(restore_result()))
    widget = view.widget()
    assert len(rows_of(widget)) == 6
    control(widget, "Which").value = "handed out twice"
    assert [row[0] for row in rows_of(widget)] == ["orders"]
    assert len(view.frame) == 1
    control(widget, "Which").value = "snapshot does not fit"
    assert [row[0] for row in rows_of(widget)] == ["ahead"]
    control(widget, "Id contains").value = "nobody"
    assert "No conversation fits." in told(widget)


def test_why_nothing_is_lost_is_said() -> None:
    unknown = {**whole_restore().measures, "rpo_steps": None}
    for result, sentence in (
        (whole_restore(), "No conversation loses a step"),
        (whole_restore(measures=unknown), "Nothing tells"),
        (bad_backup(), "Nothing was restored."),
    ):
        assert sentence in page_of(LostItemsView(RehearsalDesk(result))).text


def test_of_many_the_frame_has_all() -> None:
    many = [conversation(f"c{n}", n, n + 1, [(n + 1, n + 1)]) for n in range(MOST_LINES + 5)]
    view = LostItemsView(RehearsalDesk(restore_result(many, ())))
    assert len(view.frame) == MOST_LINES + 5
    assert f"{MOST_LINES} of {MOST_LINES + 5} are shown; frame has all." in page_of(view).text


def test_another_run_takes_the_place_of_what_was_shown() -> None:
    desk = RehearsalDesk(restore_result())
    widgets = [view.widget() for view in _views(desk)]
    desk.replace(bad_backup())
    texts = [told(widget) for widget in widgets]
    assert "Nothing was restored." in texts[2]
    assert "7 checks: 1 failed, 6 not run." in texts[1]
    assert "RTO: not known" in texts[4]
    assert control(widgets[1], "Word").options[1][0] == "consistent ✗"


def test_the_fields_show_what_was_chosen_and_run_it_again() -> None:
    asked = []

    def opener(values: Any, progress: Any) -> str:
        asked.append(dict(values))
        return "The result is in out."

    view = _choice(RehearsalDesk(restore_result()), opener)
    widget = view.widget()
    assert [row[1] for row in rows_of(widget)] == ["log.sqlite", "lost.sqlite"]
    control(widget, "Backup").value = " other.sqlite "
    control(widget, "Beside it").value = "lost.sqlite, expect-last=c=3"
    control(widget, "May be lost").value = "12"
    view.task.begin()
    view.task.wait()
    assert asked == [
        {"backup": "other.sqlite", "beside": ["lost.sqlite", "expect-last=c=3"], "rpo_steps": 12}
    ]
    assert "The result is in out." in told(widget)
    control(widget, "May be lost").value = "some"
    view.task.begin()
    view.task.wait()
    assert "how many steps may be lost is a number" in told(widget)
