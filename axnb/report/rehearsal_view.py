"""What a report shows of a drill that answers in words: each word with its checks.

A restore drill asks whether a log is *consistent*, *complete* and *usable*; a migration drill has
words of its own. What they are called and ask comes from the `points` of the drill's answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from axnb.report.drill_view import StepView, as_verdict, judged, rank
from axnb.report.rehearsal_words import evidence_lines
from axnb.report.view import brief, capital
from axnb.result import SIGNS, Result, Verdict

#: Words of a drill, checks of one word, and lines of evidence of a check that are shown.
MOST_WORDS, MOST_CHECKS, MOST_EVIDENCE = 8, 24, 12


@dataclass(frozen=True)
class Word:
    """One question of a drill, and the checks that answer it."""

    name: str
    #: What it asks.
    title: str
    word: str
    verdict: Verdict
    steps: tuple[StepView, ...]
    #: Checks that were left out.
    more: int = 0

    @property
    def sign(self) -> str:
        """The sign of the verdict."""
        return SIGNS[self.verdict]


@dataclass(frozen=True)
class RehearsalView:
    """The words of a drill, in its order."""

    words: tuple[Word, ...]
    more_words: int = 0

    def steps(self) -> list[StepView]:
        """All checks that are shown."""
        return [step for word in self.words for step in word.steps]


def rehearsal_view(result: Result) -> RehearsalView | None:
    """Look at a drill as a reader does; None for a result that does not answer in words."""
    points = result.answer.get("points")
    if not isinstance(points, list) or not all(isinstance(p, Mapping) for p in points):
        return None
    about = {str(point.get("point")): point for point in points}
    steps: dict[str, list[Mapping[str, Any]]] = {name: [] for name in about}
    for step in result.steps:
        # A word without a title is told all the same: nothing is green by omission.
        steps.setdefault(str(step["point"]), []).append(step)
    words = [_word(name, about.get(name, {}), found) for name, found in steps.items()]
    return RehearsalView(tuple(words[:MOST_WORDS]), max(0, len(words) - MOST_WORDS))


def _word(name: str, told: Mapping[str, Any], found: list[Mapping[str, Any]]) -> Word:
    views = [judged(str(step["check"]), step, _evidence(step)) for step in found]
    # Where there is no room for all, the worst are kept, in their order.
    kept = sorted(sorted(range(len(views)), key=lambda n: rank(views[n]))[:MOST_CHECKS])
    steps = tuple(views[n] for n in kept)
    worst = min(steps, key=rank).verdict if steps else "not-run"
    word = told.get("verdict", worst)
    return Word(
        name=brief(name, 40),
        title=capital(brief(told.get("title"), 200)),
        word=brief(word, 40),
        verdict=as_verdict(word),
        steps=steps,
        more=len(views) - len(steps),
    )


def _evidence(step: Mapping[str, Any]) -> tuple[str, ...]:
    return evidence_lines(step.get("evidence", ()), MOST_EVIDENCE)
