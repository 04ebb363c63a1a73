"""What a report shows of a result, ready to be written: cut to a size that a person reads.

Everything comes from the result, so a report can be written again from its `result.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from axnb.report.words import SEVERITIES, SEVERITY_SIGNS
from axnb.result import SIGNS, Result
from axnb.text import safe

#: Sentences that say why, before the rest is folded away.
MOST_REASONS = 5

#: Findings of a class that are shown at once; and of all classes together, folded away.
FIRST_FINDINGS = 3
MOST_FINDINGS = 400

#: Columns of a stranger's text: an id may have megabytes.
MOST_COLUMNS = 120

_PLURALS = {"error": "errors", "warning": "warnings", "info": "notes"}
_MEASURES = {
    "conversations": "conversations",
    "need_attention": "need attention",
    "unknown_calls": "tool calls with an unknown outcome",
    "open_questions": "open questions",
    "rows_read": "rows read",
    "rows_rejected": "rows rejected",
}


@dataclass(frozen=True)
class FindingClass:
    """All findings of one class."""

    id: str
    name: str
    severity: str
    sign: str
    #: What it means in one sentence, and at length.
    meaning: str
    explanation: str
    sql: str
    version: str
    count: int
    first: tuple[Mapping[str, Any], ...]
    more: tuple[Mapping[str, Any], ...]

    @property
    def shown(self) -> int:
        """How many of them the report holds."""
        return len(self.first) + len(self.more)


@dataclass(frozen=True)
class ReportView:
    """A result with what its views need besides."""

    result: Result
    sign: str
    numbers: tuple[tuple[str, str], ...]
    why: tuple[str, ...]
    more_reasons: tuple[str, ...]
    classes: tuple[FindingClass, ...]
    #: `3 errors, 2 warnings, 11 notes`.
    tally: str
    digest: str


def view(result: Result) -> ReportView:
    """Look at a result as a reader does."""
    return ReportView(
        result=result,
        sign=SIGNS[result.verdict],
        numbers=tuple(_numbers(result.measures)),
        why=result.why[:MOST_REASONS],
        more_reasons=result.why[MOST_REASONS:],
        classes=tuple(_classes(result)),
        tally=_tally(result.findings),
        digest=result.digest(),
    )


def _numbers(measures: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in measures.items():
        if isinstance(value, int):
            yield f"{value:,}", _MEASURES.get(name, safe(name.replace("_", " ")))


def _tally(findings: Iterable[Mapping[str, Any]]) -> str:
    found = [str(finding.get("severity")) for finding in findings]
    told = [
        f"{found.count(severity):,} {severity if found.count(severity) == 1 else plural}"
        for severity, plural in _PLURALS.items()
        if severity in found
    ]
    return ", ".join(told).replace("1 info", "1 note") or "nothing was found"


def _classes(result: Result) -> Iterable[FindingClass]:
    """Findings by class, the worst first; a class that found nothing is not among them."""
    about = {check["id"]: check for check in result.checks}
    found: dict[str, list[Mapping[str, Any]]] = {}
    for finding in result.findings:
        found.setdefault(finding["id"], []).append(finding)
    ordered = sorted(found.items(), key=lambda item: (_rank(item[1][0]["severity"]), item[0]))
    room = MOST_FINDINGS
    for identity, findings in ordered:
        check = about.get(identity, {})
        more = findings[FIRST_FINDINGS : FIRST_FINDINGS + room]
        room -= len(more)
        explanation = " ".join(str(check.get("explanation", "")).split())
        yield FindingClass(
            id=identity,
            name=findings[0]["name"],
            severity=findings[0]["severity"],
            sign=SEVERITY_SIGNS.get(findings[0]["severity"], "?"),
            meaning=f"{explanation.partition('. ')[0].rstrip('.')}." if explanation else "",
            explanation=explanation,
            sql=str(check.get("sql", "")),
            version=str(check.get("version", "")),
            count=len(findings),
            first=tuple(findings[:FIRST_FINDINGS]),
            more=tuple(more),
        )


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
