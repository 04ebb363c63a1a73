"""A drill in words: points and checks in short, evidence, what was interrupted, and how it went."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from axnb.ax.versions import GENERATIONS
from axnb.report.view import brief, capital
from axnb.result import Result
from axnb.runtimes import POINTS
from axnb.text import count

if TYPE_CHECKING:
    from axnb.report.drill_view import DrillView, Point, Policy, StepView

#: What a point is called in a few words, by its title.
SHORT_POINTS: Mapping[str, str] = {
    POINTS[1]: "before the call is emitted",
    POINTS[2]: "call emitted, no result yet",
    POINTS[3]: "tool committed, not logged",
    POINTS[4]: "inside the log transaction",
    POINTS[5]: "client leaves mid-turn",
    POINTS[6]: "server restarts mid-turn",
    POINTS[7]: "actor evicted and restored",
    POINTS[8]: "upgraded, then rolled back",
}

#: No point of the matrix.
CANCELLED = "the client cancels after the tool has committed"

#: What the checks of the resume drill are called in a word, and what each looks at.
SHORT_CHECKS: Mapping[str, str] = {
    "state": "state",
    "log-sequence": "log",
    "snapshot-version": "snapshot",
    "side-effect": "effect",
    "retry-count": "retries",
    "response": "answer",
    "alert": "alert",
}
CHECKS: Mapping[str, str] = {
    "state": "the last state of the turn",
    "log-sequence": "the numbers of the log's rows, and what they hold",
    "snapshot-version": "the snapshot from which the actor was restored",
    "side-effect": "the effects, read back from the tool's own ledger",
    "retry-count": "the requests that the tool got, and those that the runtime tells of",
    "response": "what the user was answered",
    "alert": "the alert that an operator got",
}

#: What became of a side effect.
CLASSES: Mapping[str, str] = {
    "executed": "the tool was asked once, and its result is in the log",
    "reused": "the tool was not asked again: the result of its first answer was used",
    "re-executed": "the tool was asked again, and did it again",
    "uncertain": "neither the log nor the user can tell whether it was done",
    "not-executed": "it was not done",
}

#: How a runtime is told of.
_RUNTIMES = {
    "embedded": "axnb's own stand-in for AX",
    "ax": "a real AX server",
    "command": "a deployment of yours, by commands",
}
#: Rows of one evidence that are told.
_MOST_STEPS = 6

_DIGEST = re.compile("[0-9a-f]{40,}")
_STORES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
_SNAPSHOTS = {
    "folder": "snapshots in a folder",
    "given": "snapshots where it was told",
    "none": "no snapshots",
}
_RETRIES = {
    "read": "may be asked as often as one likes",
    "idempotent": "may be asked again under its operation id",
    "write": "may be asked once",
    "barrier": "may never be asked again without a person",
}


def as_evidence(evidence: Iterable[Mapping[str, Any]], most: int) -> tuple[str, ...]:
    """Evidence on one line each: `ledger: entry 1, status reserved`."""
    every = [line for _, same in groupby(evidence, _is_row) for line in _lines(same)]
    told = every[:most]
    more = [f"… {len(every) - most:,} more in result.json"] if len(every) > most else []
    return (*told, *more)


def _is_row(one: Mapping[str, Any]) -> bool:
    return one.keys() == {"kind", "step", "digest"} and one["kind"] == "row"


def _lines(same: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Rows on one line together, and all else on one each."""
    every = list(same)
    if len(every) == 1 or not _is_row(every[0]):
        yield from map(_evidence, every)
        return
    told = [f"{brief(one['step'], 12)} {_value(one['digest'])}" for one in every[:_MOST_STEPS]]
    more = [f"… {len(every) - _MOST_STEPS:,} more"] if len(every) > _MOST_STEPS else []
    yield f"rows: step {', '.join([*told, *more])}"


def _evidence(one: Mapping[str, Any]) -> str:
    kind = brief(one.get("kind", "evidence"), 40)
    parts = [
        f"{brief(name.replace('_', ' '), 40)} {_value(value)}"
        for name, value in list(one.items())[:12]
        if name != "kind" and value not in (None, "", False, [], {})
    ]
    return brief(f"{kind}: {', '.join(parts)}" if parts else kind, 400)


def _value(value: Any, depth: int = 2) -> str:
    """A value as a reader writes it; the beginning of a digest tells it from the others."""
    if isinstance(value, list) and depth:
        between = ", " if any(isinstance(part, list) for part in value) else " "
        return between.join(_value(part, depth - 1) for part in value[:20])
    if isinstance(value, dict) and depth:
        pairs = list(value.items())[:12]
        return ", ".join(f"{brief(name, 40)} {_value(part, depth - 1)}" for name, part in pairs)
    if not isinstance(value, str):
        return brief(json.dumps(value, ensure_ascii=False), 80)
    return f"{value[:12]}…" if _DIGEST.fullmatch(value) else brief(value, 80)


def as_runs(runs: Mapping[str, int]) -> str:
    """How often a step had a verdict that is not ok: `failed 1 of 10`; empty where it never had."""
    total = sum(runs.values())
    told = [f"{brief(word, 20)} {n:,}" for word, n in runs.items() if word != "ok" and n]
    return f"{', '.join(told)} of {total:,}" if told and total > 1 else ""


# --- what was interrupted ------------------------------------------------------------------------


def interrupted(result: Result) -> list[tuple[str, list[str]]]:
    """What was interrupted and how: a name and its sentences each; nothing for another drill."""
    program = result.answer.get("program")
    if not isinstance(program, Mapping):
        return []
    asked = result.parameters
    kind = brief(program.get("kind"), 40)
    store = brief(asked.get("store"), 40)
    bucket = brief(asked.get("snapshots"), 80)
    how = [
        _RUNTIMES.get(kind, kind),
        _generation(program.get("generation")),
        f"log in {_STORES.get(store, store)}" if store else "",
        _SNAPSHOTS.get(bucket, ""),
    ]
    digest = brief(program.get("sha256"), 80)
    name = f"{brief(program.get('name'), 60)}, sha256 {digest[:16]}…"
    is_named = digest and kind != "embedded"
    tool = "idempotent" if asked.get("idempotent") else "not idempotent"
    if (retry := brief(asked.get("retry"), 40)) in _RETRIES:
        tool += f", {_RETRIES[retry]}"
    points: Any = asked.get("points")
    times = asked.get("repeat", 1)
    often = "once" if times == 1 else f"{times} times"
    number = len(points) if isinstance(points, list) else 0
    at = f"at {count(number, 'point')}, {often}{' each' if number > 1 else ''}"
    return [
        ("interrupted", [", ".join(filter(None, how))]),
        *([("program", [name])] if is_named else []),
        ("asked as", [f"{_policies(asked.get('policies'))}; {at}"]),
        ("tool", [tool]),
    ]


def program_rows(result: Result) -> list[tuple[str, str]]:
    """The program that was interrupted, as names and values; nothing for another drill."""
    program = result.answer.get("program")
    if not isinstance(program, Mapping):
        return []
    return [(brief(name, 40), brief(value, 100)) for name, value in list(program.items())[:12]]


def _generation(name: Any) -> str:
    known = GENERATIONS.get(str(name))
    return known.label if known else brief(name, 40)


def _policies(names: Any) -> str:
    listed = names if isinstance(names, list) else []
    told = ", ".join(brief(name, 40) for name in listed[:6]) or "–"
    return f"{'policy' if len(listed) == 1 else 'policies'} {told}"


# --- how it went ---------------------------------------------------------------------------------


def reach(looked: DrillView) -> list[str]:
    """How far the verdict reaches, a sentence each."""
    steps = [step for policy in looked.policies for point in policy.points for step in point.steps]
    by = {"failed": 0, "inconclusive": 0, "not-run": 0, "ok": 0}
    for step in steps:
        by["not-run" if step is None else step.verdict] += 1
    points = sum(len(policy.points) for policy in looked.policies)
    words = ("failed", "inconclusive", "not run", "ok")
    parts = [f"{n:,} {word}" for n, word in zip(by.values(), words, strict=True) if n]
    told = [f"{count(len(steps), 'check')} at {count(points, 'point')}: {', '.join(parts)}."]
    if any(point.effect for policy in looked.policies for point in policy.points):
        effects = tally([point for policy in looked.policies for point in policy.points])
        told.append(f"{capital(in_words(effects))}.")
    return told


def tally(points: Sequence[Point]) -> dict[str, int]:
    """How often an effect was doubled, lost or left unknown, a conversation is blocked, and a
    person is needed."""
    return {
        "doubled": sum((point.effects or 0) > 1 for point in points),
        "lost": sum(point.became == "not-executed" for point in points),
        "unknown": sum(point.became == "uncertain" for point in points),
        "blocked": sum(point.is_blocked for point in points),
        "person": sum(point.needs_person for point in points),
    }


def in_words(effects: Mapping[str, int]) -> str:
    """A tally as text: `doubled 4, lost 1, blocked 2; a person is needed at 5 points`."""
    told = [f"{word} {n:,}" for word, n in effects.items() if n and word != "person"]
    points = count(effects["person"], "point")
    person = f"a person is needed at {points}" if effects["person"] else "no person is needed"
    return f"{', '.join(told) or 'none doubled, lost, unknown or blocked'}; {person}"


def does(policy: Policy) -> str:
    """What a policy does, in one line."""
    return in_words(tally(policy.points))


def cell_words(point: Point, check: str, step: StepView | None) -> str:
    """A cell of the matrix for who cannot see it: `point 3, side-effect: failed`."""
    return f"point {point.name}, {check}: {'no such step' if step is None else step.word}"
