"""The views of a drill: whole, readable without colour, and with nothing alive in them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from bs4 import BeautifulSoup

from axnb.errors import SourceError
from axnb.report.drill_charts import matrix, timeline
from axnb.report.drill_text import render_drill
from axnb.report.drill_view import MOST_POINTS, drill_view
from axnb.report.drill_words import SHORT_CHECKS, SHORT_POINTS, does
from axnb.report.folder import VIEWS
from axnb.report.html import render_report
from axnb.report.junit import render_junit
from axnb.report.markdown import render_markdown
from axnb.report.terminal import WIDTH
from axnb.result import Result
from axnb.runtimes import POINTS
from axnb.text import columns, is_hidden
from tests.report.made import MARKUP, OTHER_RUN, by_hand, timeless
from tests.report.made_drill import CHECKS, drill_result, healthy_drill

POLICIES = ("ax", "requeue", "read-before-retry")
SIGN = {"ok": "✓", "failed": "✗", "inconclusive": "?", "not-run": "–"}

#: What the shape of a sign begins with, told apart without colour.
SHAPES = {"tick": "ok", "fail": "failed", "doubt": "inconclusive", "nothing": "not-run"}

_LARGE = 1_000_000


def _page(result: Result) -> BeautifulSoup:
    return BeautifulSoup(render_report(result), "html.parser")


def _words(page: Any) -> str:
    return re.sub(r"\s+", " ", page.get_text(" "))


def _verdicts(result: Result) -> dict[tuple[str, int, str], str]:
    return {(s["policy"], s["point"], s["check"]): s["verdict"] for s in result.steps}


# --- the report ----------------------------------------------------------------------------------


def test_each_check_of_each_point_has_a_sign_on_the_picture_and_a_word_in_the_table() -> None:
    result = drill_result()
    page, found = _page(result), _verdicts(result)
    assert len(found) == 3 * 8 * 7
    drawn = {}
    for cell in page.select("svg.matrix > g"):
        (shape,) = [SHAPES[c] for c in cell.find_all(True)[1]["class"]]
        where, word = cell.title.get_text().split(": ")
        policy, _, point, check = re.split("[ ,]+", where)
        assert word == shape
        drawn[policy, int(point), check] = shape
    assert drawn == found
    for policy, table in zip(POLICIES, page.select("table.matrix"), strict=True):
        rows = table.tbody.find_all("tr")
        assert [row.td.get_text() for row in rows] == [
            f"{n}: {SHORT_POINTS[POINTS[n]]}" for n in POINTS
        ]
        for point, row in zip(POINTS, rows, strict=True):
            words = [cell.get_text() for cell in row.find_all("td")[1:8]]
            expected = [found[policy, point, check] for check in CHECKS]
            assert words == [f"{SIGN[word]} {word}" for word in expected]


def test_the_signs_differ_without_colour() -> None:
    legend = _page(drill_result()).find("ul", attrs={"aria-label": "Verdicts"})
    shapes = {str(re.sub(r'class="\w+"', "", str(item.svg))) for item in legend.find_all("li")}
    assert len(shapes) == len(SIGN)


def test_each_point_has_its_timeline_and_its_seven_checks() -> None:
    result = drill_result("ax", "requeue")
    points = _page(result).select("details.point")
    assert len(points) == 2 * (8 + 1), "and the case of a cancellation"
    assert "the client cancels after the tool has committed" in _words(points[8])
    third = points[2]
    assert third.summary.get_text().startswith("✗ failed 3: after the tool commits")
    told = _words(third)
    for words in ("SIGKILL of server and actor", "1 effect, uncertain", "step 6, digest 3f3f"):
        assert words in told
    assert len(third.select("path.cut")) == 1, "the interruption is a line across"
    checks = [row.td.get_text() for row in third.select("table.judged tbody tr")]
    assert checks == [*CHECKS, "reversal"]
    seventh = points[6]
    assert seventh.summary.get_text().startswith("– not-run 7: the actor is evicted")
    assert seventh.svg is None


def test_headings_tables_and_pictures_can_be_heard() -> None:
    page = _page(drill_result())
    levels = [int(h.name[1]) for h in page.find_all(re.compile("^h[1-6]$"))]
    assert levels.count(1) == 1
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []
    for table in page.find_all("table"):
        assert table.find_parent(attrs={"role": "region", "aria-label": True, "tabindex": "0"})
        width = len(table.find_all("th"))
        assert {len(row.find_all("td")) for row in table.tbody.find_all("tr")} == {width}
    for picture in page.find_all("svg", attrs={"role": "img"}):
        title, description = picture.find("title"), picture.find("desc")
        assert picture["aria-labelledby"] == f"{title['id']} {description['id']}"
        assert title.get_text(strip=True)
        assert description.get_text(strip=True)
    ids = [element["id"] for element in page.find_all(id=True)]
    assert len(ids) == len(set(ids))


def test_a_report_says_what_a_policy_does_and_what_was_interrupted() -> None:
    words = _words(_page(drill_result()))
    for told in (
        "What it does: lost 2, unknown 4, blocked 6; a person is needed at 6 points.",
        "What it does: doubled 4; a person is needed at 4 points.",
        "What it does: none doubled, lost, unknown or blocked; no person is needed.",
        "own stand-in for AX",
        "Tool: not idempotent, may be asked once",
        "No source was read. The drill made what it looked at",
    ):
        assert told in words
    assert "Nothing was found." not in words, "a drill has checks and no findings"


def test_another_drill_has_its_matrix_too() -> None:
    steps = tuple(
        {"point": point, "check": check, "verdict": verdict}
        for point, check, verdict in (
            ("backup", "rows", "ok"),
            ("backup", "effects", "failed"),
            ("bucket", "rows", "ok"),
        )
    )
    result = by_hand(drill="restore", verdict="failed", steps=steps)
    page = _page(result)
    rows = [[c.get_text() for c in row("td")] for row in page.select("table.matrix tbody tr")]
    assert rows == [["backup", "✓ ok", "✗ failed"], ["bucket", "✓ ok", "– no step"]]
    assert "What happened at each point" in [h.get_text() for h in page.find_all("h2")]
    assert "effect" not in " ".join(th.get_text() for th in page.select("table.matrix th")[3:])
    assert "✗ FAILED" in render_drill(result)
    assert "| backup | ✓ | ✗ | – |" in render_markdown(result)


@pytest.mark.parametrize("word", ["passed", "OK", "", "green"])
def test_a_word_that_nobody_knows_is_no_ok(word: str) -> None:
    (step, *_) = drill_result("ax").steps
    page = _page(by_hand(steps=({**step, "verdict": word},)))
    (cell,) = page.select("svg.matrix > g")
    assert cell.find(class_="doubt") is not None
    assert "?" in page.select("table.matrix tbody td")[1].get_text()


def test_of_two_steps_with_one_name_the_worse_one_counts() -> None:
    (step, *_) = drill_result("ax").steps
    for order in (("ok", "failed"), ("failed", "ok")):
        steps = tuple({**step, "verdict": verdict} for verdict in order)
        drill = drill_view(by_hand(steps=steps))
        assert drill is not None
        (point,) = drill.policies[0].points
        assert [judged and judged.verdict for judged in point.steps] == ["failed"]


def test_repeated_runs_are_told() -> None:
    steps = drill_result("ax").steps
    runs = {"ok": 9, "failed": 1}
    repeated = by_hand(steps=({**steps[0], "verdict": "failed", "runs": runs},))
    for render in VIEWS.values():
        assert "failed 1 of 10" in render(repeated)


def test_runs_that_end_otherwise_are_told_apart() -> None:
    whole = json.loads(json.dumps(drill_result("ax").as_dict()))
    third = whole["answer"]["policies"][0]["points"][2]
    third["outcomes"] = [
        {"verdict": "failed", "class": "re-executed", "effects": 2, "runs": 1},
        {"verdict": "ok", "class": "executed", "effects": 1, "runs": 9},
    ]
    result = by_hand(steps=tuple(whole["steps"]), answer=whole["answer"], verdict="failed")
    told = "once failed, 2 effects, re-executed; 9 times ok, 1 effect, executed"
    assert f"Repeated: {told}." in _words(_page(result))
    lines = render_drill(result).splitlines()
    (at,) = [n for n, line in enumerate(lines) if line.strip() == told]
    assert lines[at - 1].startswith("  3  ")


def test_where_nothing_was_seen_no_person_is_sent() -> None:
    whole = json.loads(json.dumps(drill_result("ax").as_dict()))
    for point in whole["answer"]["policies"][0]["points"]:
        point.update({"class": "", "effects": None, "person": True})
    result = by_hand(steps=tuple(whole["steps"]), answer=whole["answer"], verdict="inconclusive")
    assert "A PERSON IS NEEDED" not in render_drill(result)
    assert "a person" not in " ".join(h.get_text() for h in _page(result).find_all("th"))


# --- strangers' texts ----------------------------------------------------------------------------


def _hostile(text: str) -> Result:
    """A text in every place of a drill that can hold one."""
    whole = json.loads(json.dumps(drill_result("ax").as_dict()))
    evidence = [{"kind": text, text: text}]
    for step in whole["steps"]:
        step.update(policy=text, check=f"{step['check']}{text}", expected=text, observed=text)
        step.update(evidence=evidence, runs={text: 2, "ok": 1})
    judged = {"expected": text, "observed": text, "evidence": evidence, "verdict": text}
    (policy,) = whole["answer"]["policies"]
    policy.update(policy=text, means=text, cancellation=judged)
    whole["answer"]["program"] = dict.fromkeys(("kind", "generation", "sha256", "name"), text)
    for point in policy["points"]:
        point.update(title=text, why=text, interruption=text, reversal=judged)
        point["class"] = text
        for entry in point["timeline"]:
            entry.update(who=text, what=text, mark=text)
    parts = {name: tuple(v) if isinstance(v, list) else v for name, v in whole.items()}
    return by_hand(**{name: parts[name] for name in ("steps", "answer", "verdict", "parameters")})


TEXTS = [*MARKUP, "\0", "\ud800", "{{ 7*7 }}", "--> x", "]]>", ""]


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_comes_to_life(text: str) -> None:
    result = _hostile(text)
    report = render_report(result)
    page = BeautifulSoup(report, "html.parser")
    assert {tag.name for tag in page.find_all()} <= {
        *(tag.name for tag in _page(drill_result()).find_all()),
        *("em", "li"),
    }
    attributes = {a for tag in page.find_all() for a in tag.attrs}
    assert not {a for a in attributes if a.startswith("on") or a in ("href", "src", "style")}
    for view in (report, render_junit(result), render_markdown(result), render_drill(result)):
        assert {c for c in view if is_hidden(c)} <= {"\n"}
    ET.fromstring(render_junit(result))
    assert max(columns(line) for line in render_drill(result).splitlines()) <= WIDTH


@pytest.mark.slow
def test_the_largest_drill_has_small_views() -> None:
    result = _hostile("\"&<>'`|" * 180)
    points = [{**step, "point": n} for step in result.steps[:7] for n in range(30)]
    many = [{**step, "policy": f"{n}{step['policy']}"} for n in range(6) for step in points]
    worst = replace(result, steps=tuple(many))
    for name, render in VIEWS.items():
        assert len(render(worst).encode()) < _LARGE, name
    lines = render_drill(worst).splitlines()
    assert len(lines) < 200
    assert max(columns(line) for line in lines) <= WIDTH


def test_what_is_cut_is_counted_and_the_worst_is_kept() -> None:
    (step, *_) = drill_result("ax").steps
    many = [{**step, "point": n, "verdict": "ok"} for n in range(40)]
    many[33] = {**many[33], "verdict": "failed"}
    result = by_hand(verdict="failed", steps=tuple(many))
    drill = drill_view(result)
    assert drill is not None
    (policy,) = drill.policies
    assert (len(policy.points), policy.more) == (MOST_POINTS, 40 - MOST_POINTS)
    assert policy.points[-1].name == "33"
    assert f"{MOST_POINTS} of 40 points are shown" in _words(_page(result))
    assert f"… {40 - MOST_POINTS} more" in render_drill(result)


def test_a_result_of_another_shape_is_refused(tmp_path: Path) -> None:
    whole = drill_result().as_dict()
    whole["answer"]["policies"][0]["points"] = [{"verdict": "ok"}]
    (tmp_path / "result.json").write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(SourceError, match="answer"):
        Result.read(tmp_path)
    result = drill_result()
    result.write(tmp_path)
    assert Result.read(tmp_path).digest() == result.digest()


def test_views_are_the_same_without_the_run() -> None:
    one, other = drill_result(), drill_result(run=OTHER_RUN)
    assert timeless(one) == timeless(other)


# --- pictures ------------------------------------------------------------------------------------


def test_marks_stand_on_the_lane_of_who_did_it_in_their_order() -> None:
    drill = drill_view(drill_result("ax"))
    assert drill is not None
    point = drill.policies[0].points[2]
    picture = timeline(point, "t")
    assert picture is not None
    lanes = {lane.text: lane.y for lane in picture.lanes}
    assert list(lanes) == ["client", "server", "actor", "tool", "watchdog", "drill"]
    told = [entry for entry in point.timeline if entry.mark != "kill"]
    assert [lanes[e.who] for e in told] == [mark.y for mark in picture.marks]
    places = [number.x for number in picture.numbers]
    assert places == sorted(set(places))
    assert [line.mark for line in picture.across] == ["kill", "resume"]
    assert max(places) < picture.width


def test_the_policies_stand_side_by_side() -> None:
    drill = drill_view(drill_result())
    assert drill is not None
    drawn = matrix(drill)
    assert [label.text for label in drawn.policies] == [*POLICIES]
    assert len(drawn.cells) == len({(cell.x, cell.y) for cell in drawn.cells}) == 3 * 8 * 7
    assert all(cell.x < drawn.width and cell.y < drawn.height for cell in drawn.cells)


# --- the CI server and the ticket ----------------------------------------------------------------


def test_a_ci_server_has_a_case_for_each_check() -> None:
    result = drill_result()
    root = ET.fromstring(render_junit(result))
    cases = {
        (*case.attrib["classname"].split(".")[-2:], case.attrib["name"]): case
        for case in root.iter("testcase")
        if case.attrib["name"] in CHECKS
    }
    elements = {"failed": "failure", "inconclusive": "error", "not-run": "skipped"}
    found = _verdicts(result)
    assert {(p, int(n), check) for p, n, check in cases} == set(found)
    for (policy, point, check), case in cases.items():
        verdict = found[policy, int(point), check]
        assert [e.tag for e in case] == [elements.get(verdict, "system-out")]
    beside = {
        (*case.attrib["classname"].split(".")[-2:], case.attrib["name"])
        for case in root.iter("testcase")
        if case.attrib["name"] in ("reversal", "cancellation")
    }
    policies = {policy for policy, _, _ in found}
    points = {(policy, str(point)) for policy, point, _ in found}
    told = {(policy, "cancelled", "cancellation") for policy in policies}
    assert told | {(*point, "reversal") for point in points} <= beside


def test_a_ticket_has_the_matrix_and_what_is_red() -> None:
    told = render_markdown(drill_result("requeue"))
    assert "| 3 tool committed, not logged | ✓ | ✓ | ✓ | ✗ | ✓ | ✓ | ✓ | 2 re-executed |" in told
    assert "- ✗ **requeue 3 side-effect**: expected exactly one effect" in told
    assert "Checks that are not ok" not in render_markdown(healthy_drill())


# --- the terminal --------------------------------------------------------------------------------


def test_the_terminal_says_first_what_was_interrupted_then_the_verdict() -> None:
    lines = render_drill(drill_result()).splitlines()
    assert lines[0].startswith("interrupted  axnb's own stand-in for AX, v0.2.3 (G8)")
    assert lines[1] == (
        "asked as     policies ax, requeue, read-before-retry; at 8 points, once each"
    )
    assert lines[2] == "tool         not idempotent, may be asked once"
    assert lines[4].startswith("✗ FAILED        168 checks at 24 points: 21 failed")
    assert max(columns(line) for line in lines) <= WIDTH
    grid = [line for line in lines if line.startswith("  3  tool committed, not logged")]
    assert [re.findall("[✓✗?–]", line) for line in grid] == [
        [*"✗✓✓?✓✗✓"],
        [*"✓✓✓✗✓✓✓"],
        [*"✓✓✓✓✓✓✓"],
    ]
    assert [line.split()[-2:] for line in grid] == [
        ["1", "uncertain"],
        ["2", "re-executed"],
        ["1", "reused"],
    ]
    text = "\n".join(lines)
    for told in (
        "A PERSON IS NEEDED  10",
        "requeue 3, 4, 6, 8",
        "not seen     Not looked at: PostgreSQL",
    ):
        assert told in text
    assert "axnb drill resume --policy requeue --points 3 --keep kept" in text


def test_signs_stand_below_their_heads() -> None:
    lines = render_drill(drill_result("ax")).splitlines()
    (heads,) = [line for line in lines if line.strip().startswith("state")]
    spans = [m.span() for m in re.finditer(r"\S+", heads)]
    (row,) = [line for line in lines if line.startswith("  1 ")]
    signs = [m.start() for m in re.finditer("[✓✗?–]", row)]
    assert len(signs) == len(SHORT_CHECKS)
    assert all(start <= at < end for (start, end), at in zip(spans, signs, strict=False))


def test_quiet_when_all_is_well() -> None:
    lines = render_drill(healthy_drill()).splitlines()
    assert len([line for line in lines if line]) <= 5
    assert "✓ OK            49 checks at 7 points: 49 ok." in lines


def test_colour_is_a_second_voice() -> None:
    for result in (drill_result(), healthy_drill()):
        plain, coloured = render_drill(result), render_drill(result, colour=True)
        assert "\x1b" not in plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_every_point_and_check_has_a_short_name() -> None:
    assert set(SHORT_POINTS) == set(POINTS.values())
    assert set(SHORT_CHECKS) == set(CHECKS)
    assert max(map(len, SHORT_POINTS.values())) <= 27


def test_commands_ask_as_the_drill_was_asked() -> None:
    whole = drill_result("ax")
    asked = {**whole.parameters, "generation": "G5", "store": "postgres", "idempotent": True}
    text = render_drill(replace(whole, parameters=asked)).replace(" \\\n           ", " ")
    assert "axnb drill resume --store postgres --generation G5 --idempotent --policy ax" in text
    assert (
        "; touch x"
        not in render_drill(
            replace(whole, parameters={**asked, "store": "sqlite; touch x"})
        ).partition("Next:")[2]
    )


def test_what_a_policy_does_is_counted_from_its_points() -> None:
    drill = drill_view(drill_result())
    assert drill is not None
    assert [does(policy).partition(";")[0] for policy in drill.policies] == [
        "lost 2, unknown 4, blocked 6",
        "doubled 4",
        "none doubled, lost, unknown or blocked",
    ]
