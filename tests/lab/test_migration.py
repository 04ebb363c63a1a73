"""The views of a migration drill: the matrix, the conversations, what it does; with and without a
person."""

from __future__ import annotations

from typing import Any

import pytest

from axnb.lab.desk import RehearsalDesk
from axnb.lab.migration import (
    CompatibilityView,
    FatesView,
    MigrationChoiceView,
    MigrationPlanView,
)
from axnb.lab.view import View
from axnb.text import is_hidden
from tests.lab.desks import control, rows_of, told
from tests.lab.desks import page as page_of
from tests.report.made import by_hand
from tests.report.made_migration import (
    BROKEN,
    CUT,
    LOST,
    PLAN,
    WELL,
    answer,
    conversation,
    migration_drill,
    no_copy,
    under,
    whole_migration,
)
from tests.report.made_restore import restore_result

CHOSEN: dict[str, Any] = {
    "source": "log.sqlite",
    "to": "v0.2.3",
    "ax_bin": [],
    "harnesses": ["antigravity=refuses"],
    "default_harness": "",
    "accept_loss": [],
}
RESULTS = {
    "failed": migration_drill,
    "whole": whole_migration,
    "no copy": no_copy,
    "restore": restore_result,
    "none": by_hand,
}


def _choice(desk: RehearsalDesk, opener: Any = lambda *_: "") -> MigrationChoiceView:
    return MigrationChoiceView(desk, dict(CHOSEN), "Nothing was written.", opener)


def _views(desk: RehearsalDesk) -> list[View]:
    shown = (CompatibilityView, FatesView, MigrationPlanView)
    return [_choice(desk), *(view(desk) for view in shown)]  # type: ignore[abstract]


@pytest.mark.parametrize("name", RESULTS)
def test_nobody_gets_more_than_html_and_text(name: str) -> None:
    for view in _views(RehearsalDesk(RESULTS[name]())):
        bundle = view._repr_mimebundle_()
        assert bundle.keys() == {"text/plain", "text/html"}
        assert page_of(view).text.strip()
        assert {c for c in bundle["text/plain"] if is_hidden(c)} <= {"\n"}


def test_frames_have_a_row_a_cell_a_conversation_and_a_path() -> None:
    desk = RehearsalDesk(migration_drill())
    matrix = CompatibilityView(desk).frame
    assert len(matrix) == 4 * 7
    target = matrix[matrix["version"] == "G8"].set_index("rows_of")
    assert target.loc["as it is", "outcome"] == "loses"
    assert target.loc["migrated", "words"] == "all 3 work"
    fates = FatesView(desk).frame.set_index("conversation_id")
    assert {*fates.index} == {LOST, WELL, CUT, BROKEN}
    assert fates.loc[CUT, "damages"] == "migrated: closed-unrun; unmigrated: owner-rebound"
    losses = MigrationPlanView(desk).frame
    assert losses[~losses["accepted"]]["times"].sum() == 7


def test_a_person_chooses_the_rows_of_the_matrix() -> None:
    view = CompatibilityView(RehearsalDesk(migration_drill()))
    widget = view.widget()
    assert len(rows_of(widget)) == 4
    control(widget, "Rows").value = "specimen"
    assert len(rows_of(widget)) == 1
    assert "differs" in told(widget)
    assert len(view.frame) == 7


def test_a_person_filters_conversations_by_outcome_and_damage() -> None:
    view = FatesView(RehearsalDesk(migration_drill()))
    widget = view.widget()
    assert [row[0] for row in rows_of(widget)] == [CUT, LOST, WELL, BROKEN]
    control(widget, "Outcome").value = "not well as it is"
    assert [row[0] for row in rows_of(widget)] == [CUT, LOST, BROKEN]
    control(widget, "Stays after a rollback").value = "with a migration"
    assert [row[0] for row in rows_of(widget)] == [CUT]
    control(widget, "Outcome").value = "all"
    control(widget, "Stays after a rollback").value = "none"
    assert [row[0] for row in rows_of(widget)] == [WELL, BROKEN]
    control(widget, "Outcome").value = "another owner"
    assert [row[0] for row in rows_of(widget)] == [WELL]
    assert "nobody → drill" in told(widget)
    control(widget, "Id contains").value = "x"
    assert "No conversation fits." in told(widget)
    assert view.frame.empty


def test_of_many_the_frame_has_all() -> None:
    many = [conversation(f"c{n}", "finished", under("works")) for n in range(150)]
    view = FatesView(RehearsalDesk(migration_drill(answer=answer(conversations=many))))
    assert len(view.frame) == 150
    assert "40 of 150 are shown; frame has all." in page_of(view).text


def test_what_it_does_and_the_plan() -> None:
    view = MigrationPlanView(RehearsalDesk(migration_drill()))
    shown = page_of(view).text
    assert "kubectl scale deployment/ax-server --replicas=0" in shown
    assert "session_id" in shown
    assert view.text() == PLAN
    assert (
        "There is no copy: the disk is full."
        in page_of(MigrationPlanView(RehearsalDesk(no_copy()))).text
    )


def test_another_run_takes_the_place_of_what_was_shown() -> None:
    desk = RehearsalDesk(migration_drill())
    widgets = [view.widget() for view in _views(desk)]
    desk.replace(no_copy())
    texts = [told(widget) for widget in widgets]
    assert "There is no copy" in texts[3]
    assert "– no copy" in texts[2]
    assert len(rows_of(widgets[1])) == 3


def test_the_fields_show_what_was_chosen_and_run_it_again() -> None:
    asked = []

    def opener(values: Any, progress: Any) -> str:
        asked.append(dict(values))
        return "The result is in out."

    view = _choice(RehearsalDesk(migration_drill()), opener)
    widget = view.widget()
    assert control(widget, "To").value == "G8"
    control(widget, "To").value = "G6"
    control(widget, "May be lost").value = "session_id, messages[].role"
    view.task.begin()
    view.task.wait()
    assert asked == [{"to": "G6", "accept_loss": ["session_id", "messages[].role"]}]
    assert "The result is in out." in told(widget)
