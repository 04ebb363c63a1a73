"""What a report shows of a result, ready to be written: cut to a size that a person reads.

Everything comes from the result, so a report can be written again from its `result.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from axnb.report.words import SEVERITIES, SEVERITY_SIGNS
from axnb.result import SIGNS, Result
from axnb.text import columns, count, cut_middle, safe

#: Sentences that say why, before the rest is folded away; and of any list of sentences.
MOST_REASONS = 5
MOST_SENTENCES = 30

#: Findings of a class that are shown at once, in the worst classes; the others show one. And of all
#: classes together, folded away.
FIRST_FINDINGS = 3
MOST_OPEN_CLASSES = 20
MOST_FINDINGS = 200

#: Conversations of all groups together, and snapshots.
MOST_CONVERSATIONS = 200
MOST_SNAPSHOTS = 200

#: Sources that are shown.
MOST_SOURCES = 20

#: Columns of a stranger's text: an id may have megabytes.
MOST_COLUMNS = 120

_PLURALS = {"error": "error", "warning": "warning", "info": "note"}
_MEASURES = {
    "conversations": ("conversation", "conversations"),
    "points": ("point", "points"),
    "steps": ("check", "checks"),
    "rehearsals": ("rehearsal", "rehearsals"),
    "need_person": ("needs a person", "need a person"),
    "effects_doubled": ("effect doubled", "effects doubled"),
    "effects_lost": ("effect lost", "effects lost"),
    "effects_unknown": ("effect unknown", "effects unknown"),
    "need_attention": ("needs attention", "need attention"),
    "unknown_calls": (
        "tool call with an unknown outcome",
        "tool calls with an unknown outcome",
    ),
    "open_questions": ("open question", "open questions"),
    "snapshots": ("snapshot", "snapshots"),
    "data_only": ("data only", "data only"),
    "orphans": ("orphan", "orphans"),
    "secrets": ("secret in clear", "secrets in clear"),
    "endangered": ("without a good snapshot", "without a good snapshot"),
    "rows_read": ("row read", "rows read"),
    "rows_rejected": ("row rejected", "rows rejected"),
    "rows": ("row", "rows"),
    "rpo_steps": ("step would be lost", "steps would be lost"),
    "rpo_conversations": ("conversation lost as a whole", "conversations lost as a whole"),
    "rpo_effects": ("effect would be lost", "effects would be lost"),
    "rpo_calls_unknown": ("lost call, outcome unknown", "lost calls, outcome unknown"),
    "numbers_again": ("number handed out twice", "numbers handed out twice"),
    "interrupted": ("interrupted", "interrupted"),
    "unreadable": ("unreadable as it was", "unreadable as they were"),
    "works_unmigrated": ("works as it is", "work as they are"),
    "loses_unmigrated": ("loses in silence as it is", "lose in silence as they are"),
    "fails_unmigrated": ("fails as it is", "fail as they are"),
    "works_migrated": ("works migrated", "work migrated"),
    "loss_paths": ("path without a place", "paths without a place"),
}

#: Of a drill with many measures, those that a reader sees first.
_FIRST: Mapping[str, tuple[str, ...]] = {
    "migration": (
        *("conversations", "interrupted", "works_unmigrated", "loses_unmigrated"),
        *("fails_unmigrated", "works_migrated", "loss_paths"),
    ),
}

#: Measures of which not to know is an answer.
_MAY_BE_UNKNOWN = frozenset({"rpo_steps", "rpo_conversations", "rpo_effects", "numbers_again"})

#: Measures that count the checks of a drill.
_OF_CHECKS = frozenset({"steps", "ok", "failed", "inconclusive", "not_run"})


def brief(value: Any, width: int = MOST_COLUMNS) -> str:
    """A stranger's value on one line and of bounded length, in columns and in bytes.

    Nothing for none. Escaped as in HTML it has at most two bytes a column.
    """
    if value is None:
        return ""
    text = cut_middle(safe(_ends(str(value), width)), width)
    while len(escape(text).encode()) > 2 * width:
        text = cut_middle(text, columns(text) * 3 // 4)
    return text


def capital(sentence: str) -> str:
    """A sentence as it begins; `v0.2.3` and the name of a file stay what they are."""
    first = sentence.partition(" ")[0]
    return sentence[:1].upper() + sentence[1:] if first.rstrip(":;,.").isalpha() else sentence


def _ends(text: str, width: int) -> str:
    """The two ends of a text that may have megabytes, with more of them than is ever shown."""
    room = 8 * width
    return text if len(text) <= 2 * room else text[:room] + text[-room:]


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
    #: Is it about snapshots, objects or actors?
    of_state: bool

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
    #: What to do: groups of conversations, not more of them than a reader looks at.
    actions: tuple[Mapping[str, Any], ...]
    classes: tuple[FindingClass, ...]
    #: `3 errors, 2 warnings, 11 notes`.
    tally: str
    #: Are there several logs? Then each conversation is named with its own.
    several: bool
    digest: str


def view(result: Result) -> ReportView:
    """Look at a result as a reader does."""
    return ReportView(
        result=result,
        sign=SIGNS[result.verdict],
        numbers=tuple(_numbers(_first(result))),
        why=result.why[:MOST_REASONS],
        more_reasons=result.why[MOST_REASONS:],
        actions=tuple(_actions(result.actions)),
        classes=tuple(_classes(result)),
        tally=_tally(result.findings),
        several=sum(source["kind"] == "eventlog" for source in result.sources) > 1,
        digest=result.digest(),
    )


def _first(result: Result) -> Mapping[str, Any]:
    """The measures that a reader sees first: all, but of a drill that has many."""
    measures, wanted = result.measures, _FIRST.get(result.drill)
    return measures if wanted is None else {n: measures[n] for n in wanted if n in measures}


def _numbers(measures: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in measures.items():
        words = _MEASURES.get(name, (name.replace("_", " "),) * 2)
        if isinstance(value, int) and not isinstance(value, bool):
            yield brief(f"{value:,}", 40), brief(words[value != 1], 40)
        elif value is None and name in _MAY_BE_UNKNOWN:
            yield "?", words[1]


def measured_numbers(measures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a drill measured as numbers and words, without how many checks had which verdict."""
    return list(_numbers({n: value for n, value in measures.items() if n not in _OF_CHECKS}))


def _actions(groups: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    room, places = MOST_CONVERSATIONS, MOST_SNAPSHOTS
    for group in groups:
        shown, held = group["conversations"][:room], group.get("snapshots", [])[:places]
        room, places = room - len(shown), places - len(held)
        yield {**group, "conversations": shown, "snapshots": held}


def _tally(findings: Iterable[Mapping[str, Any]]) -> str:
    found = [finding["severity"] for finding in findings]
    told = [
        count(found.count(severity), word)
        for severity, word in _PLURALS.items()
        if severity in found
    ]
    return ", ".join(told) or "nothing was found"


def _classes(result: Result) -> Iterable[FindingClass]:
    """Findings by class, the worst first; a class that found nothing is not among them."""
    about = {check["id"]: check for check in result.checks}
    found: dict[str, list[Mapping[str, Any]]] = {}
    for finding in result.findings:
        found.setdefault(finding["id"], []).append(finding)
    ordered = sorted(found.items(), key=lambda item: (_rank(item[1][0]["severity"]), item[0]))
    room = MOST_FINDINGS
    for number, (identity, findings) in enumerate(ordered):
        check = about.get(identity, {})
        first = FIRST_FINDINGS if number < MOST_OPEN_CLASSES else 1
        more = findings[first : first + room]
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
            first=tuple(findings[:first]),
            more=tuple(more),
            of_state=any(_STATE_KEYS & finding["keys"].keys() for finding in findings),
        )


#: Keys of findings that are about no row of a log.
_STATE_KEYS = frozenset({"actor", "snapshot", "object"})


def whose(finding: Mapping[str, Any]) -> str | None:
    """The conversation or actor that a finding is about; None for a snapshot of nobody, an object
    or a whole source."""
    return _first_of(finding["keys"], "conversation_id", "actor")


def about(finding: Mapping[str, Any]) -> str | None:
    """What a finding is about: the same, else a snapshot or an object; None for a whole source."""
    return whose(finding) or _first_of(finding["keys"], "object", "snapshot")


def _first_of(keys: Mapping[str, Any], *names: str) -> str | None:
    return next((str(keys[name]) for name in names if keys.get(name) is not None), None)


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
