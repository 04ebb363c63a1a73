"""What a report shows of a drill: its steps as a matrix, and what happened at each point.

The matrix is of any result that has steps; what the points are called and what happened there come
from the answer of the drill, where it has them. All is cut to a size that a person reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axnb.report.drill_words import CANCELLED, SHORT_CHECKS, SHORT_POINTS, as_evidence, as_runs
from axnb.report.view import brief, capital
from axnb.result import SIGNS, WORST, Result, Verdict
from axnb.text import count

#: Policies, points of one and checks of one that are shown; entries of a timeline, and evidence.
MOST_POLICIES, MOST_POINTS, MOST_CHECKS = 4, 16, 10
MOST_ENTRIES, MOST_EVIDENCE = 60, 8

_Step = Mapping[str, Any]


@dataclass(frozen=True)
class StepView:
    """An expectation, and what was observed."""

    check: str
    expected: str
    observed: str
    evidence: tuple[str, ...]
    #: As the result has it, cut; a word that nobody knows is shown, and counts as inconclusive.
    word: str
    verdict: Verdict
    #: Of repeated runs: `failed 1 of 10`; else empty.
    runs: str = ""

    @property
    def sign(self) -> str:
        """The sign of the verdict."""
        return SIGNS[self.verdict]


@dataclass(frozen=True)
class Entry:
    """What one of those who took part did."""

    number: int
    who: str
    what: str
    step: str
    mark: str


@dataclass(frozen=True)
class Point:
    """One interruption with what was checked after it."""

    policy: str
    name: str
    title: str
    #: The title in a few words.
    short: str
    word: str
    verdict: Verdict
    #: `reused`, `re-executed`, …; empty where nobody knows.
    became: str
    effects: int | None
    needs_person: bool
    why: str
    interruption: str
    reversal: StepView | None
    #: One a check of the matrix, in its order; None where the result has no such step.
    steps: tuple[StepView | None, ...]
    timeline: tuple[Entry, ...]
    #: Entries that were left out.
    more: int = 0
    #: Of repeated runs that differ: `9 times ok, executed, 1 effect`.
    outcomes: tuple[str, ...] = ()

    @property
    def sign(self) -> str:
        """The sign of the verdict."""
        return SIGNS[self.verdict]

    @property
    def is_blocked(self) -> bool:
        """Was it seen that a turn has no end?"""
        return any(s and s.check == "state" and s.verdict == "failed" for s in self.steps)

    @property
    def effect(self) -> str:
        """`2 re-executed`; what is not known is a question mark, and nothing for neither."""
        if self.effects is None and not self.became:
            return ""
        return f"{'?' if self.effects is None else self.effects} {self.became}".strip()

    @property
    def effect_words(self) -> str:
        """The same as a reader says it: `2 effects, re-executed`."""
        return _effect_words(self.effects, self.became)


@dataclass(frozen=True)
class Policy:
    """What one policy did."""

    #: Empty where the drill compares none.
    name: str
    means: str
    word: str
    verdict: Verdict
    points: tuple[Point, ...]
    #: The client cancels after the tool has committed: no point of the matrix.
    cancelled: Point | None
    #: Points that were left out.
    more: int = 0

    @property
    def sign(self) -> str:
        """The sign of the verdict."""
        return SIGNS[self.verdict]


@dataclass(frozen=True)
class DrillView:
    """The steps of a drill as a matrix for each policy."""

    checks: tuple[str, ...]
    policies: tuple[Policy, ...]
    #: Policies and checks that were left out.
    more_policies: int = 0
    more_checks: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The checks in a word each."""
        return tuple(SHORT_CHECKS.get(check, check) for check in self.checks)

    def all_points(self) -> list[Point]:
        """The points of all policies, each policy's cancellation after its own."""
        return [p for of in self.policies for p in (*of.points, of.cancelled) if p is not None]


def drill_view(result: Result) -> DrillView | None:
    """Look at a drill as a reader does; None for a result without steps."""
    if not result.steps:
        return None
    told = _told(result)
    names = list(dict.fromkeys([*told, *(_policy_of(step) for step in result.steps)]))
    checks = list(dict.fromkeys(str(step["check"]) for step in result.steps))
    shown = checks[:MOST_CHECKS]
    return DrillView(
        checks=tuple(brief(check, 40) for check in shown),
        policies=tuple(
            _policy(name, told.get(name, {}), _steps_of(name, result.steps), shown)
            for name in names[:MOST_POLICIES]
        ),
        more_policies=max(0, len(names) - MOST_POLICIES),
        more_checks=max(0, len(checks) - MOST_CHECKS),
    )


def _told(result: Result) -> dict[str, Mapping[str, Any]]:
    """What the answer says of each policy, if it is an answer that has them."""
    if result.answer.get("schema") != "axnb.resume-drill/1":
        return {}
    return {policy["policy"]: policy for policy in result.answer["policies"]}


def _policy_of(step: _Step) -> str:
    return str(step.get("policy", ""))


def _steps_of(policy: str, steps: Iterable[_Step]) -> dict[str, dict[str, _Step]]:
    """The steps of a policy by point and check; of two with one name the worse one counts."""
    found: dict[str, dict[str, _Step]] = {}
    for step in steps:
        if _policy_of(step) == policy:
            here, check = found.setdefault(str(step["point"]), {}), str(step["check"])
            if check not in here or _severity(step) < _severity(here[check]):
                here[check] = step
    return found


def _policy(
    name: str,
    told: Mapping[str, Any],
    steps: Mapping[str, Mapping[str, _Step]],
    checks: Sequence[str],
) -> Policy:
    about = {str(point["point"]): point for point in told.get("points", ())}
    names = list(dict.fromkeys([*about, *steps]))
    bad = {
        point: min(map(_severity, [*steps.get(point, {}).values(), *_those(about.get(point))]))
        for point in names
    }
    # Where there is no room for all, the worst are kept, in their order.
    kept = set(sorted(names, key=bad.__getitem__)[:MOST_POINTS])
    points = tuple(
        _point(name, point, about.get(point, {}), steps.get(point, {}), checks)
        for point in names
        if point in kept
    )
    worst = WORST[min(bad.values(), default=WORST.index("not-run"))]
    verdict = as_verdict(told.get("verdict", worst))
    return Policy(
        name=brief(name, 40),
        means=brief(told.get("means"), 200),
        word=brief(told.get("verdict", verdict), 40),
        verdict=verdict,
        points=points,
        cancelled=_cancelled(name, told.get("cancellation")),
        more=len(names) - len(points),
    )


def _those(told: _Step | None) -> list[_Step]:
    return [] if told is None else [told]


def _point(
    policy: str,
    name: str,
    told: Mapping[str, Any],
    steps: Mapping[str, _Step],
    checks: Sequence[str],
) -> Point:
    judged = tuple(_judged(check, steps.get(check)) for check in checks)
    verdict = as_verdict(told["verdict"]) if "verdict" in told else _worst(judged)
    timeline: Sequence[Mapping[str, Any]] = told.get("timeline", ())
    title = brief(told.get("title"), 200)
    return Point(
        policy=brief(policy, 40),
        name=brief(name, 40),
        title=title,
        short=SHORT_POINTS.get(title, title),
        word=brief(told.get("verdict", verdict), 40),
        verdict=verdict,
        became=brief(told.get("class"), 40),
        effects=told.get("effects"),
        # Where nothing was seen there is nothing to do either.
        needs_person=bool(told.get("person")) and bool(told.get("class")),
        why=_sentence(brief(told.get("why"), 400)),
        interruption=brief(told.get("interruption"), 300),
        reversal=_judged("reversal", told.get("reversal")),
        steps=judged,
        timeline=tuple(_entry(n, entry) for n, entry in enumerate(timeline[:MOST_ENTRIES], 1)),
        more=max(0, len(timeline) - MOST_ENTRIES),
        outcomes=_outcomes(told.get("outcomes", ())),
    )


def _cancelled(policy: str, told: Mapping[str, Any] | None) -> Point | None:
    if told is None:
        return None
    about = {**told, "title": CANCELLED}
    return _point(policy, "cancelled", about, {"cancellation": told}, ["cancellation"])


def _sentence(text: str) -> str:
    """With a capital and an end, as a sentence stands alone."""
    return f"{capital(text)}{'' if text.endswith(('.', '?', '…')) else '.'}" if text else ""


def _outcomes(told: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """How repeated runs ended, where they differ."""
    if len(told) < 2:
        return ()
    return tuple(
        brief(f"{_times(one['runs'])} {', '.join(filter(None, [one['verdict'], words]))}", 120)
        for one in told[:MOST_EVIDENCE]
        for words in [_effect_words(one.get("effects"), one.get("class") or "")]
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _effect_words(effects: int | None, became: str) -> str:
    known = "" if effects is None else count(effects, "effect")
    return ", ".join(filter(None, [known, became]))


def _entry(number: int, told: Mapping[str, Any]) -> Entry:
    step = told.get("step")
    return Entry(
        number=number,
        who=brief(told["who"], 12),
        what=brief(told["what"], 300),
        step="" if step is None else str(step),
        mark=brief(told["mark"], 20),
    )


def _judged(check: str, told: Mapping[str, Any] | None) -> StepView | None:
    if told is None:
        return None
    return judged(check, told, as_evidence(told.get("evidence", ()), MOST_EVIDENCE))


def judged(check: str, told: Mapping[str, Any], evidence: tuple[str, ...]) -> StepView:
    """A step of a result as a reader sees it, with its evidence on one line each."""
    return StepView(
        check=brief(check, 40),
        expected=brief(told.get("expected"), 400),
        observed=brief(told.get("observed"), 400),
        evidence=evidence,
        word=brief(told["verdict"], 40),
        verdict=as_verdict(told["verdict"]),
        runs=as_runs(told.get("runs", {})),
    )


def as_verdict(word: Any) -> Verdict:
    """A verdict by its word; one that nobody knows is inconclusive."""
    return next((verdict for verdict in SIGNS if verdict == word), "inconclusive")


def rank(part: StepView | Point | Policy) -> int:
    """How bad a verdict is: 0 is the worst."""
    return WORST.index(part.verdict)


def telling(point: Point) -> tuple[int, bool, bool]:
    """By how much a point has to say: the worst first, of those the doubled, then the unknown."""
    return rank(point), (point.effects or 0) < 2, point.became != "uncertain"


def _severity(step: _Step) -> int:
    return WORST.index(as_verdict(step["verdict"]))


def _worst(parts: Iterable[StepView | Point | None]) -> Verdict:
    """The worst verdict of some; what is not there was not run."""
    found = {part.verdict if part is not None else "not-run" for part in parts}
    return next((verdict for verdict in WORST if verdict in found), "not-run")
