"""The result of a reconciliation drill, in the form of `axnb.result/1`.

`answer` is `axnb.reconciliation-drill/1`. All but the block `run` is the same for the same evidence
and the same time span: without `until`, a call may be as young as the drill.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from axnb.drills.reconciliation.judged import MOST, Counts, Judged, Number
from axnb.drills.reconciliation.matching import CLASSES
from axnb.drills.reconciliation.options import ReconciliationOptions
from axnb.drills.reconciliation.worklist import as_plan
from axnb.drills.steps import Check, Evidence, overall, rank
from axnb.recorded import as_evidence
from axnb.result import Result, Verdict
from axnb.started import Started
from axnb.text import count
from axnb.triaging import SourceTriage

_SCHEMA = "axnb.reconciliation-drill/1"

#: Entries of evidence that one check shows.
_MOST_EVIDENCE = 20
_MOST_WHY = 8
#: Tools that have a check of their own; a hostile log could name a new one in every row.
_MOST_TOOLS = 100

#: What each class says, in words.
WORDS: Mapping[str, str] = {
    "duplicated": "done twice",
    "cancelled-committed": "cancelled, and done all the same",
    "no-call-in-log": "done without a call in the log",
    "arguments-differ": "done with other arguments",
    "result-lost": "done, its result is lost",
    "reversed": "done and taken back",
    "not-executed": "not done",
    "ambiguous-number": "of a number that was rounded",
    "ambiguous": "ambiguous",
    "not-covered": "not covered by a ledger",
    "no-ledger": "without a ledger",
    "matched": "matched",
}

_KINDS = {
    "eventlog": ("log", "row", "rows"),
    "ledger": ("ledger", "entry", "entries"),
    "server-log": ("server log", "line", "lines"),
}

#: Nobody can tell; all others but `matched` are known to be wrong.
UNKNOWN = frozenset({"ambiguous-number", "ambiguous", "not-covered", "no-ledger"})


@dataclass(frozen=True)
class Reconciled:
    """What was found."""

    counts: Counts
    judged: Sequence[Judged]
    sources: Sequence[SourceTriage]
    #: Why a source could not be read.
    skipped: Sequence[str]
    since: datetime
    until: datetime


def reconciliation_result(
    options: ReconciliationOptions, done: Reconciled, started: Started
) -> Result:
    """Everything that was found, as a result."""
    checks = [*_of_tools(done), *_of_sources(done)]
    verdict = overall([check.verdict for _, _, check in checks])
    locators = [source.locator for source in done.sources]
    effects = tuple(one.as_dict() for one in done.judged)
    return Result(
        drill="reconciliation",
        verdict=verdict,
        parameters=_parameters(options),
        sources=tuple(as_evidence([s.as_dict() for s in done.sources], locators)),
        examined=tuple(_examined(done)),
        why=tuple(_why(checks))[:_MOST_WHY],
        measures=_measures(done),
        unresolved=_unresolved(done),
        steps=tuple({"point": point, "check": name, **c.as_dict()} for point, name, c in checks),
        effects=effects,
        plan=as_plan(effects),
        scope=tuple(_scope(options, done)),
        answer={
            "schema": _SCHEMA,
            "verdict": verdict,
            "points": [
                {"point": word, "title": asks, "verdict": _of(checks, word)}
                for word, asks in _POINTS.items()
            ],
            "classes": {
                tool: {name: number.found for name, number in of.items()}
                for tool, of in done.counts.items()
            },
        },
        run=started.block(locators, "", ()) | {"until": done.until.isoformat()},
    )


#: What each word asks.
_POINTS = {
    "calls": "what became of each call, by its tool?",
    "sources": "was everything read?",
}


def _of(checks: Sequence[tuple[str, str, Check]], word: str) -> Verdict:
    return overall([check.verdict for point, _, check in checks if point == word])


def _of_tools(done: Reconciled) -> Iterator[tuple[str, str, Check]]:
    worst: dict[str, list[Evidence]] = {}
    for one in done.judged:
        shown = worst.setdefault(one.tool or "", [])
        if one.found != "matched" and len(shown) < _MOST_EVIDENCE:
            shown.append(_evidence(one))
    by_verdict = sorted(done.counts, key=lambda tool: (rank(_verdict(done.counts[tool])), tool))
    for tool in by_verdict[:_MOST_TOOLS]:
        of = done.counts[tool]
        told = [f"{number.found:,} {WORDS[name]}" for name, number in of.items()]
        evidence = worst.get(tool, [])
        odd = sum(number.found for name, number in of.items() if name != "matched")
        if odd > len(evidence):
            evidence = [*evidence, {"kind": "more", "entries": odd - len(evidence)}]
        check = Check(
            expected="each call was done once, as it was asked for, and nothing else was",
            observed=", ".join(told),
            verdict=_verdict(of),
            evidence=tuple(evidence),
        )
        yield "calls", tool or "(no tool)", check
    if rest := by_verdict[_MOST_TOOLS:]:
        # The worst were told: what is left is no worse than the last of them.
        verdict = _verdict(done.counts[rest[0]])
        yield "calls", "other-tools", Check("the same", count(len(rest), "tool"), verdict)
    if not done.counts:
        nothing = "the log holds no call, and no ledger an effect"
        yield "calls", "there-are-some", Check("there are some", nothing, "inconclusive")


def _verdict(of: Mapping[str, Number]) -> Verdict:
    """Of calls without consequences nobody needs to know whether they were made."""
    if of.keys() - UNKNOWN - {"matched"}:
        return "failed"
    if any(number.consequential and name in UNKNOWN for name, number in of.items()):
        return "inconclusive"
    return "ok"


def _of_sources(done: Reconciled) -> Iterator[tuple[str, str, Check]]:
    """What was not read whole proves nothing by what it lacks."""
    told = [*done.skipped, *(s for source in done.sources for s in source.incomplete)]
    kinds = [source.kind for source in done.sources]
    if not kinds.count("ledger"):
        told.append("there is no ledger")
    found = f"{count(kinds.count('eventlog'), 'log')}, {count(kinds.count('ledger'), 'ledger')}"
    yield (
        "sources",
        "read-whole",
        Check(
            expected="the logs and the ledgers were read whole",
            observed="; ".join([found, *(sentence.rstrip(".") for sentence in told)]),
            verdict="inconclusive" if told else "ok",
        ),
    )


#: What evidence shows of a call or an entry.
_SHOWN = (
    "class",
    "conversation_id",
    "step",
    "operation_id",
    "outcome",
    "ledger",
    "entry",
    "status",
    "how",
    "advice",
)


def _evidence(one: Judged) -> Evidence:
    told = one.as_dict()
    return {"kind": "effect"} | {name: told[name] for name in _SHOWN}


def _totals(done: Reconciled) -> dict[str, int]:
    totals = dict.fromkeys(CLASSES, 0)
    for of in done.counts.values():
        for name, number in of.items():
            totals[name] += number.found
    return totals


def _measures(done: Reconciled) -> dict[str, Any]:
    totals = _totals(done)
    calls = sum(number for name, number in totals.items() if name != "no-call-in-log")
    return {"calls": calls} | {name.replace("-", "_"): totals[name] for name in CLASSES}


def _unresolved(done: Reconciled) -> dict[str, Any]:
    """Calls whose outcome a person has to find out from the tool: the log does not know it."""
    found = [
        one
        for one in done.judged
        if one.found in UNKNOWN and one.consequential and one.outcome != "completed"
    ]
    number = sum(
        number.unanswered
        for of in done.counts.values()
        for name, number in of.items()
        if name in UNKNOWN
    )
    calls = [
        {
            "tool": one.tool,
            "operation_id": one.operation_id,
            "source": one.source,
            "conversation_id": one.conversation_id,
            "step": one.step,
            "known": WORDS[one.found],
        }
        for one in found[:100]
    ]
    return {"count": number, "calls": calls} if number else {}


def _why(checks: Sequence[tuple[str, str, Check]]) -> Iterator[str]:
    bad = [(name, c) for _, name, c in checks if c.verdict in ("failed", "inconclusive")]
    for name, check in sorted(bad, key=lambda found: rank(found[1].verdict)):
        yield f"{name.replace('-', ' ')}: {check.observed}."
    if not bad:
        yield "Every call is one effect, and every effect has its call."


def _examined(done: Reconciled) -> Iterator[str]:
    for source in done.sources:
        if source.kind in _KINDS:
            what, noun, nouns = _KINDS[source.kind]
            yield f"The {what} {source.name}: {count(source.read, noun, nouns)}"


def _scope(options: ReconciliationOptions, done: Reconciled) -> Iterator[str]:
    yield "The tools were not asked: a ledger is what it was when it was exported."
    begun = f"{done.since:%Y-%m-%d %H:%M} UTC"
    yield (
        f"No call is taken to be older than {begun}"
        + (", as was said." if options.since else ", when AX came out.")
    )
    if options.until is None:
        yield "A call may be as young as the moment in which the drill began."
    listed, total = len(done.judged), sum(_totals(done).values())
    if total > listed:
        yield f"The {MOST:,} worst of {total:,} calls and entries are listed; all are counted."


def _parameters(options: ReconciliationOptions) -> dict[str, Any]:
    return {
        "sources": len(options.sources),
        "effects": sorted(ledger.name for ledger in options.ledgers),
        "server_logs": len(options.server_logs),
        "since": options.since.isoformat() if options.since else "",
        "until": options.until.isoformat() if options.until else "",
        "retry": sorted(f"{t.name}={t.retry}" for t in options.settings.tools.values() if t.retry),
    }
