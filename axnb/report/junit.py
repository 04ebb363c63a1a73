"""JUnit XML of a result, for a CI server: red where the verdict is not ok, green only where it is.

What JUnit calls a failure is an error found; what it calls an error is that something is missing,
unreadable or unknown. A warning or a note is told in the output of a case that passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree as ET

from axnb.report.drill_words import as_evidence, as_runs
from axnb.report.rehearsal_words import evidence_lines
from axnb.report.view import about, brief
from axnb.result import Result
from axnb.text import count

#: Findings of one class that are told, and of all classes beside the first of each; sentences.
_MOST = 20
_MOST_FINDINGS = 500
_WIDTH = 300

#: Sources and steps that are cases of their own.
_MOST_CASES = 500

#: What became of a case: how JUnit calls it, the worst first.
_ELEMENTS = {"failed": "failure", "inconclusive": "error", "not-run": "skipped"}


def render_junit(result: Result) -> str:
    """The result as JUnit XML; what differs between two runs stands in the root's attributes."""
    root = ET.Element("testsuites", name=_text(f"axnb {result.drill}"))
    _add_suite(root, "verdict", [_verdict(result)])
    _add_suite(root, "sources", _first(result.sources, _source))
    as_step = partial(_step, drill=result.drill if _is_rehearsal(result) else "")
    _add_suite(root, "steps", _first([*result.steps, *_beside_steps(result)], as_step))
    _add_suite(root, "findings", list(_checks(result)))
    for kind in ("tests", "failures", "errors", "skipped"):
        root.set(kind, str(sum(int(suite.get(kind, "0")) for suite in root)))
    root.set("time", _text(result.run.get("seconds", 0)))
    if started := _text(result.run.get("started", "")):
        root.set("timestamp", started[:19])
    ET.indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def _first(
    entries: Sequence[Mapping[str, Any]], as_case: Callable[[Mapping[str, Any]], ET.Element]
) -> list[ET.Element]:
    """A case an entry; those that are too many are one case more, red if one of them would be."""
    cases = [as_case(entry) for entry in entries]
    left = cases[_MOST_CASES:]
    if not left:
        return cases
    red = {
        element for case in left for element in _ELEMENTS.values() if case.find(element) is not None
    }
    became = next((word for word, element in _ELEMENTS.items() if element in red), "ok")
    message = f"{len(left):,} more; result.json has all."
    name = f"{len(left):,} more"
    place = str(left[0].get("classname"))
    return [*cases[:_MOST_CASES], _case(place, name, became, message, ())]


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
    told = list(result.why[:_MOST])
    if len(result.why) > _MOST:
        told.append(f"{len(result.why) - _MOST:,} more; result.json has all.")
    return _case(f"axnb.{result.drill}", "verdict", became, result.verdict, told)


def _source(source: Mapping[str, Any]) -> ET.Element:
    noun = "objects" if source["kind"] == "bucket" else "rows"
    counts = "read {read:,} = parsed {parsed:,} + rejected {rejected:,}".format(**source)
    doubts = list(source.get("incomplete", ()))
    # Lines of a server log or a transcript may be another program's: that is no doubt.
    if source["kind"] not in ("client", "server-log"):
        doubts += [f"It holds no {noun}."] if not source["read"] else []
        doubts += [f"Some {noun} could not be read."] if source["rejected"] else []
    became = "inconclusive" if doubts else "ok"
    return _case("axnb.sources", f"{source['name']} is read whole", became, counts, doubts[:_MOST])


def _beside_steps(result: Result) -> Iterator[dict[str, Any]]:
    """What a drill verifies beside its steps: that effects were reversed, and the cancellation."""
    for policy in result.answer.get("policies") or ():
        cancelled = policy.get("cancellation")
        for point in policy.get("points") or ():
            if point.get("reversal"):
                place = {"policy": policy["policy"], "point": point["point"], "check": "reversal"}
                yield {**place, **point["reversal"]}
        if cancelled:
            place = {"policy": policy["policy"], "point": "cancelled", "check": "cancellation"}
            yield {**place, **cancelled}
            if cancelled.get("reversal"):
                yield {**place, "check": "reversal", **cancelled["reversal"]}


def _is_rehearsal(result: Result) -> bool:
    """Does a drill answer in words, to which its checks belong?"""
    return isinstance(result.answer.get("points"), list)


def _step(step: Mapping[str, Any], drill: str) -> ET.Element:
    told = [f"{name}: {step[name]}" for name in ("expected", "observed") if name in step]
    if runs := as_runs(step.get("runs", {})):
        told.insert(0, runs)
    tell = evidence_lines if drill else as_evidence
    evidence = tell(step.get("evidence", ()), _MOST)
    place, name = "axnb.steps", f"point {step.get('point')}: {step.get('check')}"
    if drill:
        place, name = f"axnb.{drill}.{step.get('point')}", str(step.get("check"))
    elif step.get("policy"):
        place, name = f"axnb.{step['policy']}.{step.get('point')}", str(step.get("check"))
    return _case(place, name, str(step.get("verdict")), "; ".join(told), evidence)


def _checks(result: Result) -> Iterable[ET.Element]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for finding in result.findings:
        found.setdefault(finding["id"], []).append(finding)
    # A class without its check is told all the same: what was found is never green by omission.
    checks = [*result.checks, *(first[0] for i, first in found.items() if i not in _ids(result))]
    room = _MOST_FINDINGS
    for check in checks:
        findings = found.get(check["id"], [])
        # The finding decides: a check may be younger than the result.
        is_error = any(finding["severity"] == "error" for finding in findings)
        told = [_finding(finding) for finding in findings[: min(_MOST, 1 + room)]]
        room -= max(0, len(told) - 1)
        if len(findings) > len(told):
            told.append(f"{len(findings) - len(told):,} more; result.json has all.")
        name = f"{check['id']} {check['name']}"
        message = f"{count(len(findings), 'finding')} ({check['severity']})" if findings else ""
        if is_error and _is_rehearsal(result):
            # A wound that the log had before the drill: its verdict does not count it.
            is_error, message = False, f"{message}, which the log had before: not counted"
        yield _case(f"axnb.{check['id']}", name, "failed" if is_error else "ok", message, told)


def _ids(result: Result) -> set[str]:
    return {check["id"] for check in result.checks}


def _finding(finding: Mapping[str, Any]) -> str:
    place = [brief(finding["source"], 40)]
    if (key := about(finding)) is not None:
        place.append(brief(key, 80))
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
    return brief(value, _WIDTH)
