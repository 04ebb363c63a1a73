"""The views of a drill that answers in words: whole, told in its own words, alive in no place."""

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
from hypothesis import given
from hypothesis import strategies as st

from axnb.errors import SourceError
from axnb.report.drill_text import render_drill
from axnb.report.folder import VIEWS
from axnb.report.html import render_report
from axnb.report.junit import render_junit
from axnb.report.markdown import render_markdown
from axnb.report.rehearsal_view import rehearsal_view
from axnb.report.rehearsal_words import as_time, evidence_lines
from axnb.report.restore_charts import BAR, LABEL, LENGTH, REMARK, lost_picture, phases
from axnb.report.restore_view import MOST_LINES, joined, lost_lines, lost_view, without
from axnb.report.terminal import WIDTH
from axnb.result import Result
from axnb.text import columns, is_hidden
from tests.report.made import MARKUP, OTHER_RUN, timeless
from tests.report.made_drill import drill_result
from tests.report.made_restore import (
    MIGRATION,
    WORDS,
    bad_backup,
    conversation,
    migration_result,
    pointer,
    restore_result,
    whole_restore,
    wounded_restore,
)

SIGN = {"ok": "✓", "failed": "✗", "inconclusive": "?", "not-run": "–"}
MADE = {
    "restore": restore_result,
    "whole": whole_restore,
    "bad": bad_backup,
    "wounded": wounded_restore,
    "migration": migration_result,
}
_LARGE = 1_000_000


def _page(result: Result) -> BeautifulSoup:
    return BeautifulSoup(render_report(result), "html.parser")


def _words(page: Any) -> str:
    return re.sub(r"\s+", " ", page.get_text(" "))


def _cells(table: Any) -> list[list[str]]:
    return [[c.get_text(" ", strip=True) for c in row("td")] for row in table.select("tbody tr")]


def _changed(result: Result, **answer: Any) -> Result:
    return replace(result, answer={**result.answer, **answer})


# --- the report ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_each_word_has_its_checks_with_what_was_seen(name: str) -> None:
    result = MADE[name]()
    tables = _page(result).select("table.judged")
    words = MIGRATION if name == "migration" else WORDS
    assert [t.find_parent("div")["aria-label"] for t in tables] == [f"Checks: {w}" for w in words]
    for word, table in zip(words, tables, strict=True):
        steps = [step for step in result.steps if step["point"] == word]
        rows = _cells(table)
        assert [row[0] for row in rows] == [step["check"] for step in steps]
        for step, (_, verdict, expected, observed, _) in zip(steps, rows, strict=True):
            assert verdict == f"{SIGN[step['verdict']]} {step['verdict']}"
            assert expected.lower() == step["expected"].lower()
            assert observed.lower() == step["observed"].lower()


@pytest.mark.parametrize("name", MADE)
def test_it_speaks_in_its_own_words(name: str) -> None:
    """Points, policies and interruptions are another drill's."""
    result = replace(MADE[name](), findings=())
    for view in (_words(_page(result)), render_markdown(result), render_drill(result)):
        assert re.findall(r"\b(point|policy|policies|interrupted)\b", view, re.IGNORECASE) == []


@pytest.mark.parametrize("name", MADE)
def test_headings_tables_and_pictures_can_be_heard(name: str) -> None:
    page = _page(MADE[name]())
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


def test_calls_to_read_back_come_before_the_checks() -> None:
    page = _page(restore_result())
    heads = [h.get_text(" ", strip=True) for h in page.find_all("h2")]
    assert heads.index("Read back before anything runs again 4") < heads.index("What was checked")
    table = page.find("div", attrs={"aria-label": "Calls to read back from their tools"})
    rows = _cells(table)
    assert ["charge_card", "op-2", "orders", "9", "lost.sqlite", "No result"] in rows
    assert ["charge_card", "(no id)", "elsewhere", "2", "lost.sqlite", "A result: completed"] in (
        rows
    )
    assert "Read back before" not in _words(_page(whole_restore()))


def test_wounds_of_before_are_told_and_not_counted() -> None:
    result = wounded_restore()
    words = _words(_page(result))
    assert "Wounds that the log already had" in words
    assert "None of them is counted against the drill" in words
    root = ET.fromstring(render_junit(result))
    assert (root.attrib["failures"], root.attrib["errors"]) == ("0", "0"), "its verdict is ok"
    assert "not counted" in render_junit(result)
    assert "not counted" in render_markdown(result)


def test_a_plan_is_shown_as_it_is() -> None:
    plan = "-- 1. Freeze.\necho '<b>'\n"
    page = _page(migration_result(plan=plan))
    assert page.find("pre", attrs={"aria-label": "The plan"}).get_text() == plan.rstrip()
    assert "2 lines, in the report" in render_drill(migration_result(plan=plan))
    assert "The plan" not in _words(_page(restore_result()))


def test_what_nobody_knows_is_said() -> None:
    result = bad_backup()
    page = _page(result)
    assert "? steps would be lost" in [
        f"{of.dd.get_text()} {of.dt.get_text()}" for of in page.select("dl.numbers > div")
    ]
    for told in ("RPO: not known, for nothing was restored.", "RTO: not known"):
        assert told in re.sub(r"\s+", " ", render_drill(result))
    assert page.select_one("svg.lost") is None
    unknown = {**restore_result().measures, "rpo_steps": None}
    orphan = restore_result((), (), {"loss": "inconclusive"}, measures=unknown)
    assert "RPO: not known. A lost tail leaves no gap" in _words(_page(orphan))
    assert "Nothing: each conversation ends" not in _words(_page(orphan))
    least = restore_result(parameters={"source": "none"})
    assert "RPO: at least 21 steps" in _words(_page(least))


@pytest.mark.parametrize("word", ["passed", "OK", "", "green"])
def test_a_word_that_nobody_knows_is_no_ok(word: str) -> None:
    (step, *_) = restore_result().steps
    points = [{"point": "consistent", "verdict": word}]
    result = _changed(restore_result(steps=({**step, "verdict": word},)), points=points)
    looked = rehearsal_view(result)
    assert looked is not None
    assert (looked.words[0].sign, looked.words[0].steps[0].sign) == ("?", "?")
    root = ET.fromstring(render_junit(result))
    (case,) = [c for c in root.iter("testcase") if c.attrib["name"] == "backup"]
    assert case.find("error") is not None


def test_a_check_without_a_word_of_its_own_is_told() -> None:
    result = _changed(restore_result(), points=[{"point": "complete", "verdict": "ok"}])
    looked = rehearsal_view(result)
    assert looked is not None
    assert {word.name for word in looked.words} == set(WORDS)
    assert len(looked.steps()) == len(result.steps)


def test_other_results_have_no_words() -> None:
    assert rehearsal_view(drill_result()) is None
    assert lost_lines(drill_result()) == []
    assert lost_view(migration_result()) is None


def test_views_are_the_same_without_the_run() -> None:
    later = {**OTHER_RUN, "phases": {"load": 9.0}, "rto_phases": ["load"], "rto_seconds": 9.0}
    assert timeless(restore_result()) == timeless(restore_result(run=later))


# --- the picture of what is lost -----------------------------------------------------------------


def _drawn(name: str) -> Any:
    page = _page(restore_result())
    return next(
        g for g in page.select("svg.lost > g") if g.title.get_text().startswith(f"{name}: ")
    )


def test_each_conversation_has_a_line_the_worst_first() -> None:
    page = _page(restore_result())
    names = [g.title.get_text().split(":")[0] for g in page.select("svg.lost > g")]
    assert names == ["orders", "elsewhere", "long", "gone", "hole", "ahead"]
    assert [row[0] for row in _cells(page.select_one("table.lost"))] == names


def test_shapes_tell_what_is_lost_without_colour() -> None:
    orders = _drawn("orders")
    assert [len(orders.select(of)) for of in ("rect.kept", "rect.lost", "path.strokes")] == [1] * 3
    assert len(orders.select("path.twice")) == 1
    assert orders.select_one("text.twice").get_text() == "2×"
    assert len(orders.select("path.coming")) == 1
    assert ["full" in p["class"] for p in orders.select("path.halo")] == [True, False], (
        "a step with a call of unknown outcome is open, whatever else is there"
    )
    assert _drawn("gone").select_one("rect.kept") is None
    assert _drawn("long").select_one("path.gap") is not None
    assert _drawn("hole").select_one("path.gap") is None
    ahead = _drawn("ahead")
    assert ahead.select_one("path.cutline") is not None
    assert "snapshot: it is ahead of the log" in ahead.get_text()


def test_the_table_says_the_same() -> None:
    rows = {row[0]: row[1:] for row in _cells(_page(restore_result()).select_one("table.lost"))}
    assert rows["orders"][:5] == ["6", "12", "7-12", "✗ 7-10", "11-15"]
    assert rows["elsewhere"][:5] == ["–", "–", "–", "–", "1-6"]
    assert rows["long"][:3] == ["99,990", "100,000", "99,991-100,000"]
    assert rows["ahead"][-1] == "it is ahead of the log, cut at step 4"


def test_everything_lies_on_its_line_in_the_order_of_steps() -> None:
    looked = lost_view(restore_result())
    assert looked is not None
    picture = lost_picture(looked)
    assert picture is not None
    for line in picture.lines:
        parts = [*([line.restored] if line.restored else []), *line.twice, *line.coming]
        for part in (*parts, *line.lost):
            assert part.x >= LABEL
            assert part.x + part.width <= LABEL + LENGTH + 1
        for hatched in line.lost:
            points = re.findall(r"([\d.]+) ([\d.]+)", hatched.strokes)
            assert points, "a part that is lost is never empty to the eye"
            for x, y in points:
                assert hatched.x - 0.1 <= float(x) <= hatched.x + hatched.width + 0.1
                assert line.y - 0.1 <= float(y) <= line.y + BAR + 0.1
        assert line.end <= LABEL + LENGTH
        if line.restored and line.lost and line.label == "orders":
            assert line.lost[0].x == line.restored.x + line.restored.width
    assert picture.width == LABEL + LENGTH + REMARK


def test_a_long_conversation_shows_its_lost_end() -> None:
    lines = [conversation("c", 999_999, 1_000_000, [(1_000_000, 1_000_000)])]
    looked = lost_view(restore_result(lines, ()))
    assert looked is not None
    picture = lost_picture(looked)
    assert picture is not None
    (line,) = picture.lines
    assert line.lost[0].width > LENGTH / 2
    assert line.gap is not None
    assert [number.text for number in line.numbers] == ["1", "1,000,000", "999,999"]


def test_what_is_cut_is_counted() -> None:
    many = [conversation(f"c{n}", n, n + 1, [(n + 1, n + 1)]) for n in range(MOST_LINES + 5)]
    result = restore_result(many, [pointer("c44", "a client", [(45, 45)], twice=True)])
    page = _page(result)
    assert len(page.select("svg.lost > g")) == MOST_LINES
    assert page.select_one("svg.lost > g").title.get_text().startswith("c44: "), "the worst stays"
    assert f"{MOST_LINES} of {MOST_LINES + 5} conversations are shown" in _words(page)
    assert f"… {MOST_LINES + 5 - 20} more in `result.json`" in render_markdown(result)


RANGES = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 6)), max_size=6).map(
    lambda made: [[first, first + more] for first, more in made]
)


def _numbers(ranges: Any) -> set[int]:
    return {n for first, last in ranges for n in range(first, last + 1)}


@given(RANGES, RANGES)
def test_ranges_are_sets_of_numbers(some: Any, others: Any) -> None:
    left = without(joined(some), joined(others))
    assert _numbers(left) == _numbers(some) - _numbers(others)
    assert all(b[0] > a[1] + 1 for a, b in pairwise(joined(some)))


def test_phases_that_do_not_count_are_outlines() -> None:
    result = restore_result()
    drawn = {bar.title: bar.counts for bar in phases(result.run)}
    assert drawn == {
        "take the backup": False,
        "judge the backup": True,
        "load it": True,
        "read and compare": False,
        "start AX": True,
    }
    run = _page(result).find(id="run-phases")
    assert [rect["class"] for rect in run.find_all("rect")].count(["aside"]) == 2
    assert "RTO: 2.5 s on this machine (load it 2.0 s" in _words(run)
    assert phases({"phases": {"load": "soon"}}) == phases({}) == []


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.0004, "0 ms"), (0.25, "250 ms"), (59.0, "59.0 s"), (200, "3 min 20 s")]
)
def test_times_are_short(seconds: float, told: str) -> None:
    assert as_time(seconds) == told


# --- evidence ------------------------------------------------------------------------------------


def test_evidence_is_told_in_words() -> None:
    told = {
        "orders steps 7-12": {"kind": "steps", "first": 7, "last": 12},
        "orders step 7, will come again, known to a client": {
            "kind": "steps",
            "first": 7,
            "last": 7,
            "twice": False,
            "who": "a client",
        },
        "orders: nothing came after 3, refused: INTERNAL; expected: blocked": {
            "kind": "asked",
            "new_steps": [],
            "last_step": 3,
            "error": "INTERNAL",
            "predicted": "blocked",
        },
        "orders: none fits": {
            "kind": "cut",
            "relation": "unrecoverable",
            "step": None,
            "snapshot": None,
            "how": None,
        },
    }
    for line, one in told.items():
        assert evidence_lines([{"conversation_id": "orders", **one}], 5) == (line,)
    flaw = {"kind": "torn-page", "severity": "error", "shown_by": ["page 3"]}
    assert evidence_lines([flaw], 5) == ("torn-page: page 3",)


@pytest.mark.parametrize("kind", ["steps", "call", "asked", "cut", "snapshot", "more", "sealed"])
def test_evidence_of_another_shape_is_told_all_the_same(kind: str) -> None:
    (line,) = evidence_lines([{"kind": kind, "digest": 7}], 5)
    assert line == f"{kind}: digest 7"


def test_evidence_that_is_too_much_is_counted() -> None:
    many = [{"kind": "sealed", "conversation_id": f"c{n}"} for n in range(30)]
    assert evidence_lines(many, 12)[-2:] == ("c10", "… 19 more in result.json")


# --- the CI server and the terminal --------------------------------------------------------------


def test_a_ci_server_has_a_case_for_each_check() -> None:
    result = restore_result()
    root = ET.fromstring(render_junit(result))
    elements = {"failed": "failure", "inconclusive": "error", "ok": "system-out"}
    found = {
        (case.attrib["classname"], case.attrib["name"]): [e.tag for e in case]
        for case in root.iter("testcase")
        if case.attrib["classname"].startswith("axnb.restore.")
    }
    assert found == {
        (f"axnb.restore.{step['point']}", step["check"]): [elements[step["verdict"]]]
        for step in result.steps
    }
    skipped = ET.fromstring(render_junit(bad_backup()))
    assert skipped.attrib["skipped"] == "6"


def test_the_terminal_says_the_verdict_first_and_what_to_read_back() -> None:
    text = render_drill(restore_result())
    lines = text.splitlines()
    assert lines[0].startswith("log.sqlite    AX event log of G8; rows: read 2")
    assert lines[4].startswith("✗ FAILED        7 checks: 2 failed, 1 inconclusive, 4 ok.")
    order = ("READ BACK  4", "CONSISTENT  ✓ OK", "COMPLETE  ✗ FAILED", "USABLE  ? INC", "Next:")
    places = [text.index(word) for word in order]
    assert places == sorted(places)
    assert "  ✗ loss               not so: loss" in lines
    assert max(columns(line) for line in lines) <= WIDTH
    assert "axnb drill restore log.sqlite lost.sqlite --backup=backup.sqlite --out drill" in text
    assert "axnb explain AX107" in text
    assert "Next:" not in render_drill(bad_backup()), "what came to nothing comes to nothing again"


def test_quiet_when_all_is_well() -> None:
    lines = render_drill(whole_restore()).splitlines()
    assert len([line for line in lines if line]) <= 6
    assert "✓ OK            7 checks: 7 ok." in lines


@pytest.mark.parametrize("name", MADE)
def test_colour_is_a_second_voice(name: str) -> None:
    result = MADE[name]()
    plain, coloured = render_drill(result), render_drill(result, colour=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


# --- strangers' texts, and results of another shape ----------------------------------------------


def _hostile(text: str) -> Result:
    """A text in every place of a restore that can hold one."""
    told: Any = json.loads(json.dumps(restore_result().as_dict()))
    every = [*told["answer"]["conversations"], *told["answer"]["again"]]
    for one in (*every, *told["unresolved"]["calls"]):
        one["conversation_id"] = f"{one['conversation_id']}{text}"
    for one in told["answer"]["again"]:
        one["who"] = text
        for call in one["calls"]:
            call.update(tool=text, operation_id=text, outcome=text)
    for call in told["unresolved"]["calls"]:
        call.update(tool=text, operation_id=text, source=text, known=text)
    for step in told["steps"]:
        step.update(check=f"{step['check']}{text}", expected=text, observed=text)
        step["evidence"] = [
            {"kind": text, text: text},
            {"kind": "steps", "conversation_id": text, "first": text, "last": 2, "who": text},
            {"kind": "torn", "severity": text, "shown_by": [text]},
            {"kind": "asked", "conversation_id": text, "new_steps": [1], "last_step": text},
        ]
    for point in told["answer"]["points"]:
        point.update(title=text, verdict=text)
    run = {**told["run"], "phases": {text: 1.0}, "rto_phases": [text]}
    return replace(
        restore_result(run=run, steps=tuple(told["steps"]), unresolved=told["unresolved"]),
        answer=told["answer"],
        plan=text,
    )


@pytest.mark.parametrize("text", [*MARKUP, "\0", "\ud800", "{{ 7*7 }}", "]]>", ""])
def test_no_text_comes_to_life(text: str) -> None:
    result = _hostile(text)
    report = render_report(result)
    page = BeautifulSoup(report, "html.parser")
    known = {tag.name for name in MADE for tag in _page(MADE[name]()).find_all()}
    assert {tag.name for tag in page.find_all()} <= known
    attributes = {a for tag in page.find_all() for a in tag.attrs}
    assert not {a for a in attributes if a.startswith("on") or a in ("href", "src", "style")}
    for view in (render_junit(result), render_markdown(result), render_drill(result)):
        assert {c for c in view if is_hidden(c)} <= {"\n"}
    assert {c for c in report if is_hidden(c)} <= {"\n"}
    ET.fromstring(render_junit(result))
    assert max(columns(line) for line in render_drill(result).splitlines()) <= WIDTH


@pytest.mark.slow
def test_the_largest_restore_has_small_views() -> None:
    text = "\"&<>'`|" * 40
    many = [conversation(f"{n}{text}", n, n + 9, [(n + 1, n + 9)]) for n in range(1000)]
    calls = [
        {"step": n, "tool": text, "operation_id": text, "outcome": "unknown"} for n in range(9)
    ]
    again = [pointer(one["conversation_id"], text, one["lost"], *calls) for one in many]
    result = restore_result(many, again)
    for name, render in VIEWS.items():
        assert len(render(result).encode()) < _LARGE, name
    assert len(render_drill(result).splitlines()) < 200


WRONG = {
    "no pointers": ("again", None),
    "a pointer without its calls": ("again", [{"conversation_id": "c", "steps": [], "who": "x"}]),
    "a range of one": ("conversations", [conversation("c", 1, lost=[(3,)])]),  # type: ignore[list-item]
    "a step that is a text": ("conversations", [{**conversation("c", 1), "restored": "1"}]),
    "a word without a verdict": ("points", [{"point": "complete"}]),
    "words that are a text": ("points", "complete"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_result_of_another_shape_is_refused(name: str, tmp_path: Path) -> None:
    key, value = WRONG[name]
    result = _changed(restore_result(), **{key: value})
    result.write(tmp_path)
    with pytest.raises(SourceError, match="answer"):
        Result.read(tmp_path)


@pytest.mark.parametrize("name", MADE)
def test_a_result_is_read_again_as_it_was(name: str, tmp_path: Path) -> None:
    result = MADE[name]()
    result.write(tmp_path)
    assert Result.read(tmp_path).digest() == result.digest()
