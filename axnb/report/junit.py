"""JUnit XML of a result, for a CI server: red where the verdict is not ok, green only where it is.

What JUnit calls a failure is an error found; what it calls an error is that something is missing,
unreadable or unknown. A warning or a note is told in the output of a case that passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from axnb.result import Result
from axnb.text import count, cut_middle, safe

#: Findings of one class that are told.
_MOST = 50
_WIDTH = 300

#: What became of a case: how JUnit calls it.
_ELEMENTS = {"failed": "failure", "inconclusive": "error", "not-run": "skipped"}


def render_junit(result: Result) -> str:
    """The result as JUnit XML; what differs between two runs stands in the root's attributes."""
    root = ET.Element("testsuites", name=_text(f"axnb {result.drill}"))
    _add_suite(root, "verdict", [_verdict(result)])
    _add_suite(root, "sources", [_source(source) for source in result.sources])
    _add_suite(root, "steps", [_step(step) for step in result.steps])
    _add_suite(root, "findings", list(_checks(result)))
    for kind in ("tests", "failures", "errors", "skipped"):
        root.set(kind, str(sum(int(suite.get(kind, "0")) for suite in root)))
    root.set("time", _text(result.run.get("seconds", 0)))
    root.set("timestamp", _text(result.run.get("started", ""))[:19])
    ET.indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def _add_suite(root: ET.Element, name: str, cases: list[ET.Element]) -> None:
    if not cases:
        return
    suite = ET.SubElement(root, "testsuite", name=name, tests=str(len(cases)))
    for kind, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(sum(case.find(element) is not None for case in cases)))
    suite.extend(cases)


def _verdict(result: Result) -> ET.Element:
    # A run that did not happen must not look like a green one: servers count skipped ones as such.
    became = "inconclusive" if result.verdict == "not-run" else result.verdict
    return _case(f"axnb.{result.drill}", "verdict", became, result.verdict, result.why)


def _source(source: Mapping[str, Any]) -> ET.Element:
    counts = "read {read:,} = parsed {parsed:,} + rejected {rejected:,}".format(**source)
    doubts = list(source.get("incomplete", ()))
    doubts += ["It holds no rows."] if not source["read"] else []
    became = "inconclusive" if doubts or source["rejected"] else "ok"
    name = f"{source['name']} is read whole"
    return _case("axnb.sources", name, became, counts, doubts)


def _step(step: Mapping[str, Any]) -> ET.Element:
    told = [f"{name}: {step[name]}" for name in ("expected", "observed") if name in step]
    name = f"point {step.get('point')}: {step.get('check')}"
    return _case("axnb.steps", name, str(step.get("verdict")), "; ".join(told), ())


def _checks(result: Result) -> Iterable[ET.Element]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for finding in result.findings:
        found.setdefault(finding["id"], []).append(finding)
    for check in result.checks:
        findings = found.get(check["id"], [])
        became = "failed" if findings and check["severity"] == "error" else "ok"
        told = [_finding(finding) for finding in findings[:_MOST]]
        if len(findings) > _MOST:
            told.append(f"{len(findings) - _MOST:,} more; result.json has all.")
        name = f"{check['id']} {check['name']}"
        message = f"{count(len(findings), 'finding')} ({check['severity']})" if findings else ""
        yield _case(f"axnb.{check['id']}", name, became, message, told)


def _finding(finding: Mapping[str, Any]) -> str:
    place = [cut_middle(str(finding["keys"].get("conversation_id", finding["source"])), 80)]
    if "step" in finding["keys"]:
        place.append(f"step {finding['keys']['step']}")
    return f"{' '.join(place)}: {finding['sentence']}"


def _case(place: str, name: str, became: str, message: str, sentences: Iterable[str]) -> ET.Element:
    case = ET.Element("testcase", classname=_text(place), name=_text(name))
    told = "\n".join(_text(sentence) for sentence in sentences)
    if became == "ok":
        if message:
            ET.SubElement(case, "system-out").text = "\n".join(filter(None, [_text(message), told]))
        return case
    # A word that nobody knows is no reason to be green.
    element = _ELEMENTS.get(became, "error")
    ET.SubElement(case, element, message=_text(message), type=_text(became)).text = told
    return case


def _text(value: Any) -> str:
    """A value as text that XML can hold: on one line, and of bounded length."""
    return cut_middle(safe(str(value)), _WIDTH)
