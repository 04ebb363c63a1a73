"""JUnit XML: what any server can read, whose counts add up, green only where the verdict is ok."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.report import junit
from axnb.report.junit import render_junit
from axnb.result import EXIT_CODES, Result, Verdict
from tests import ax_logs
from tests.report.made import (
    NAMES,
    OTHER_RUN,
    RUN,
    all_hostile,
    by_hand,
    finding,
    made,
    real,
    source,
    timeless,
)

KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
#: What servers take: an element, its attributes that must be and may be there, and its children.
RULES: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (
        {"name", "tests", "failures", "errors", "time"},
        {"skipped", "timestamp"},
        {"testsuite"},
    ),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, set(), {"testcase"}),
    "testcase": ({"name", "classname"}, set(), {"failure", "error", "skipped", "system-out"}),
    "failure": ({"message", "type"}, set(), set()),
    "error": ({"message", "type"}, set(), set()),
    "skipped": ({"message", "type"}, set(), set()),
    "system-out": (set(), set(), set()),
}


def _checked(result: Result) -> ET.Element:
    """The document, of which each rule holds."""
    text = render_junit(result)
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        must, may, children = RULES[element.tag]
        assert must <= set(element.keys()) <= must | may
        assert {child.tag for child in element} <= children
        for name in ("tests", *KINDS):
            if name in element.keys():  # noqa: SIM118  an element's truth is whether it has children
                cases = list(element.iter("testcase"))
                kind = KINDS.get(name)
                found = cases if kind is None else [c for c in cases if c.find(kind) is not None]
                assert int(element.attrib[name]) == len(found)
    assert all(len(case) <= 1 for case in root.iter("testcase"))
    assert float(root.attrib["time"]) >= 0
    if "timestamp" in root.attrib:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", root.attrib["timestamp"])
    return root


def _is_green(root: ET.Element) -> bool:
    return root.attrib["failures"] == root.attrib["errors"] == "0"


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_valid_and_as_green_as_its_verdict(name: str) -> None:
    result = made(name)
    root = _checked(result)
    assert _is_green(root) == (result.verdict == "ok")
    assert (int(root.attrib["failures"]) > 0) == (result.verdict == "failed")


_FINDINGS = st.lists(
    st.builds(finding, st.integers(1, 30), st.sampled_from(["info", "warning", "error"])),
    max_size=60,
)
_STEPS = st.lists(
    st.fixed_dictionaries(
        {"point": st.integers(1, 8), "check": st.text(max_size=5)},
        optional={"expected": st.text(max_size=5), "observed": st.text(max_size=5)},
    ).flatmap(
        lambda step: st.sampled_from([*EXIT_CODES, "passed", "OK", "", "green"]).map(
            lambda verdict: {**step, "verdict": verdict}
        )
    ),
    max_size=6,
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([*EXIT_CODES]), _FINDINGS, _STEPS, st.booleans())
def test_green_means_ok(
    verdict: Verdict, findings: list[dict[str, object]], steps: list[dict[str, object]], known: bool
) -> None:
    checks = [
        {"id": f["id"], "name": f["name"], "severity": f["severity"], "version": "1"}
        for f in ({f["id"]: f for f in findings}).values()
        if known
    ]
    root = _checked(
        by_hand(verdict=verdict, findings=tuple(findings), steps=tuple(steps), checks=tuple(checks))
    )
    (suite,) = [suite for suite in root if suite.attrib["name"] == "verdict"]
    assert _is_green(suite) == (verdict == "ok")
    assert (suite.attrib["failures"] != "0") == (verdict == "failed")
    assert (suite.attrib["errors"] != "0") == (verdict in ("inconclusive", "not-run"))
    if _is_green(root):
        assert verdict == "ok"
        assert "error" not in {f["severity"] for f in findings}
        assert {step["verdict"] for step in steps} <= {"ok", "not-run"}
    for f in findings:
        cases = [c for c in root.iter("testcase") if c.attrib["classname"] == f"axnb.{f['id']}"]
        assert len(cases) == 1, "a class has a case, whether its check is known or not"


@pytest.mark.parametrize("word", ["passed", "OK", "ok ", "", "green", "success"])
def test_a_word_that_nobody_knows_is_not_green(word: str) -> None:
    root = _checked(by_hand(steps=({"point": 1, "check": "state", "verdict": word},)))
    assert (root.attrib["errors"], root.attrib["skipped"]) == ("1", "0")


def test_a_step_that_was_not_run_is_skipped() -> None:
    step = {"point": 1, "check": "state", "verdict": "not-run"}
    root = _checked(by_hand(steps=(step,)))
    assert (root.attrib["skipped"], root.attrib["errors"]) == ("1", "0")


TEXTS = [
    *all_hostile(),
    "\0\x01\x1f\x7f\x85",
    "\ud800",
    "\udfff\ud800",
    "\ufffe\uffff",
    "]]>",
    "x" * 10**6,
]


def test_no_text_breaks_the_document() -> None:
    for text in TEXTS:
        result = by_hand(
            drill=text or "x",
            verdict="failed",
            why=(text,),
            sources=(source(name=text, incomplete=[text]),),
            steps=({"point": text, "check": text, "expected": text, "verdict": text},),
            findings=(finding(sentence=text, keys={"conversation_id": text}),),
            run={**RUN, "started": RUN["started"]},
        )
        root = _checked(result)
        assert len(render_junit(result)) < 20_000
        assert len(list(root.iter("testcase"))) == 4


def test_a_source_that_is_not_whole_is_red() -> None:
    for parts in ({"read": 0, "parsed": 0}, {"rejected": 1}, {"incomplete": ["Torn."]}):
        root = _checked(by_hand(verdict="inconclusive", sources=(source(**parts),)))
        assert root.attrib["errors"] == "2"


def test_lines_of_another_program_are_no_doubt() -> None:
    """The triage says ok then, and a report that is ok must be green."""
    beside = source(kind="server-log", rejected=3, notes=["3 lines are not used."])
    assert _is_green(_checked(by_hand(sources=(beside,))))


def test_what_is_cut_is_counted() -> None:
    step = {"point": 1, "check": "state", "verdict": "ok"}
    many = [step] * (junit._MOST_CASES + 7)
    result = by_hand(
        verdict="failed",
        why=("w.",) * 33,
        findings=(finding(),) * 1033,
        steps=(*many, {**step, "verdict": "failed"}, {**step, "verdict": "not-run"}),
        sources=(source(),) * 600,
    )
    root = _checked(result)
    text = render_junit(result)
    assert "1,033 findings (error)" in text
    for told in ("13 more; result.json", "1,013 more; result.json", "100 more; result.json"):
        assert told in text
    steps = [c for c in root.iter("testcase") if c.attrib["classname"] == "axnb.steps"]
    assert len(steps) == junit._MOST_CASES + 1
    assert steps[-1].find("failure") is not None, "a failure among the rest is not hidden"


def test_only_two_attributes_depend_on_the_run() -> None:
    one, other = (by_hand(verdict="failed", run=run) for run in (RUN, OTHER_RUN))
    assert render_junit(one) != render_junit(other)
    assert timeless(one)[1] == timeless(other)[1]
    assert 'timestamp="2026-01-02T03:04:05"' in render_junit(one)
    _checked(by_hand(run={}))


@pytest.mark.parametrize(
    "log",
    ax_logs.some_quick(ax_logs.sqlite_logs(), "crafted-sqlite", "g3-sqlite", "g8-sqlite"),
)
def test_real_logs(log: ax_logs.RealLog) -> None:
    result = real(log)
    root = _checked(result)
    for check in result.checks:
        (case,) = [
            c for c in root.iter("testcase") if c.attrib["classname"] == f"axnb.{check['id']}"
        ]
        told = "".join(case.itertext()) + "".join(e.attrib.get("message", "") for e in case)
        assert (f"{check['found']:,} finding" in told) == (check["found"] > 0)
