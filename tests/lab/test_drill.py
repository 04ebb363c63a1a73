"""The views of a drill: the matrix and a point, without a person and as one uses them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from axnb.lab.desk import DrillDesk
from axnb.lab.drill import DrillChoiceView, MatrixView, PointView
from axnb.lab.summary import SummaryView
from axnb.lab.view import View
from axnb.result import Result
from axnb.text import is_hidden
from tests.lab.desks import control, told
from tests.lab.desks import page as page_of
from tests.report.made import MARKUP, by_hand
from tests.report.made_drill import CHECKS, drill_result, healthy_drill

CHOSEN = {"policies": ["ax", "requeue"], "points": "", "idempotent": False, "generation": "v0.2.2"}


def _views(desk: DrillDesk) -> list[View]:
    choice = DrillChoiceView(desk, CHOSEN, "Nothing was written.", lambda *_: "")
    return [choice, SummaryView(desk), MatrixView(desk), PointView(desk)]


def _hostile() -> Result:
    text = "".join(MARKUP)
    whole = json.loads(json.dumps(drill_result("ax").as_dict()))
    for step in whole["steps"]:
        step.update(expected=text, observed=text, evidence=[{"kind": text, text: text}])
    for point in whole["answer"]["policies"][0]["points"]:
        point.update(title=text, why=text, interruption=text)
        for entry in point["timeline"]:
            entry.update(who=text, what=text, mark=text)
    return by_hand(steps=tuple(whole["steps"]), answer=whole["answer"])


RESULTS = {"three": drill_result, "healthy": healthy_drill, "none": by_hand, "hostile": _hostile}


@pytest.mark.parametrize("name", RESULTS)
def test_nobody_gets_more_than_html_and_text(name: str) -> None:
    for view in _views(DrillDesk(RESULTS[name]())):
        bundle = view._repr_mimebundle_()
        assert bundle.keys() == {"text/plain", "text/html"}
        assert page_of(view).text.strip()
        assert {c for c in bundle["text/plain"] if is_hidden(c)} <= {"\n"}
        assert len(bundle["text/html"]) < 300_000


def test_the_matrix_is_a_table_and_a_picture() -> None:
    view = MatrixView(DrillDesk(drill_result()))
    frame = view.frame
    assert len(frame) == 24
    assert {*CHECKS} <= {*frame.columns}
    third = frame[(frame["policy"] == "requeue") & (frame["point"] == "3")].iloc[0]
    assert (third["side-effect"], third["effects"], third["class"]) == ("failed", 2, "re-executed")
    html = "".join(view.pieces())
    assert html.count("<svg role") == 1
    assert html.count("<table>") == 3


def test_the_worst_point_is_shown_until_another_is_chosen() -> None:
    desk = DrillDesk(drill_result("read-before-retry", "requeue"))
    view = PointView(desk)
    assert desk.chosen == ("requeue", "3")
    desk.choose(("read-before-retry", "4"))
    assert [*view.frame["check"]] == [*CHECKS, "reversal"]
    assert "inside the transaction" in page_of(view).text
    desk.choose(("read-before-retry", "99"))
    assert desk.chosen == ("read-before-retry", "4"), "there is no such point"


def test_a_person_chooses_a_policy_and_a_point() -> None:
    desk = DrillDesk(drill_result("ax", "requeue"))
    matrix, point = MatrixView(desk).widget(), PointView(desk).widget()
    assert "ax: lost 2" in told(matrix)
    control(matrix, "Policy").value = "requeue"
    assert "ax: lost 2" not in told(matrix)
    assert "requeue: doubled 4" in told(matrix)
    control(point, "Policy and point").value = ("requeue", "6")
    assert "the server restarts while the actor is active" in told(point)


def test_another_run_takes_the_place_of_what_was_shown() -> None:
    desk = DrillDesk(drill_result("ax"))
    matrix, point = MatrixView(desk).widget(), PointView(desk).widget()
    control(point, "Policy and point").value = ("ax", "5")
    desk.replace(drill_result("ax", "requeue"))
    assert desk.chosen == ("ax", "5"), "the same point stays chosen"
    assert "requeue" in told(matrix)
    assert control(point, "Policy and point").value == ("ax", "5")
    desk.replace(drill_result("requeue"))
    assert "requeue point 3" in told(point)


def test_the_fields_show_what_was_chosen_and_run_it_again() -> None:
    desk, asked = DrillDesk(drill_result("ax")), []

    def opener(values: Any, progress: Any) -> str:
        asked.append(dict(values))
        return "The result is in out."

    view = DrillChoiceView(desk, dict(CHOSEN), "Nothing was written.", opener)
    widget = view.widget()
    assert control(widget, "Generation").value == "v0.2.2", "a release is a choice of its own"
    control(widget, "Policies").value = "requeue , ax"
    control(widget, "Points").value = "1-3"
    view.task.begin()
    view.task.wait()
    assert asked == [{"policies": ["requeue", "ax"], "points": "1-3"}]
    assert "The result is in out." in told(widget)
