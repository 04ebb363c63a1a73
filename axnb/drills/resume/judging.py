"""From what a rehearsal showed to its steps, and to the point in a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from axnb.drills.resume.checks import CHECKS
from axnb.drills.resume.classing import effect_class, needs_person, why
from axnb.drills.resume.evidence import RELEASED, evidence_of_effects
from axnb.drills.resume.rehearsing import Rehearsed
from axnb.drills.resume.seen import Seen
from axnb.drills.resume.timeline import timeline
from axnb.drills.steps import Check, overall
from axnb.result import Verdict
from axnb.runtimes import CANCELLED, POINTS
from axnb.text import count

_FINE = Check("", "", "ok")


@dataclass(frozen=True)
class Judged:
    """One rehearsal with its verdicts."""

    rehearsed: Rehearsed
    checks: Mapping[str, Check]
    #: The effects were undone, and the tool was read back.
    reversal: Check
    #: Of CANCELLED: a stopped stream is not a reversed effect.
    cancellation: Check | None = None

    @property
    def point(self) -> int:
        """1 to 8, or CANCELLED."""
        return self.rehearsed.job.point

    @property
    def policy(self) -> str:
        """The policy under which it was resumed."""
        return self.rehearsed.job.policy

    @property
    def title(self) -> str:
        """What the point is."""
        return POINTS.get(self.point, "the client cancels after the tool has committed")

    @property
    def verdict(self) -> Verdict:
        """The worst of its checks and of its reversal; of CANCELLED, these two alone."""
        if self.cancellation is not None:
            return overall([self.cancellation.verdict, self.reversal.verdict])
        return overall([*(check.verdict for check in self.checks.values()), self.reversal.verdict])

    @property
    def effect_class(self) -> str:
        """What became of the side effect; empty where it was not rehearsed."""
        seen = self.rehearsed.seen
        return "" if seen is None else effect_class(seen)

    @property
    def effects(self) -> int | None:
        """Effects that exist; None where nobody can tell."""
        seen = self.rehearsed.seen
        if seen is None or seen.observation.effects is None:
            return None
        return len(seen.observation.effects)

    @property
    def trouble(self) -> str:
        """What is wrong with the effect: `doubled`, `lost` or `unknown`; empty where nothing is."""
        if self.rehearsed.seen is None or self.checks["side-effect"].verdict == "ok":
            return ""
        if (self.effects or 0) > 1:
            return "doubled"
        return "lost" if self.effects == 0 else "unknown"

    @property
    def is_blocked(self) -> bool:
        """Has the conversation a turn that nobody can end?"""
        return self.rehearsed.seen is not None and self.checks["state"].verdict == "failed"

    @property
    def needs_person(self) -> bool:
        """Must a person do something? Where nothing was seen, a person must look."""
        seen = self.rehearsed.seen
        if self.reversal.verdict == "failed" or (self.cancellation or _FINE).verdict != "ok":
            return True
        return seen is None or needs_person(seen, self.checks)

    @property
    def why(self) -> str:
        """The point in a sentence."""
        seen = self.rehearsed.seen
        return self.rehearsed.told if seen is None else why(seen, self.checks)

    def timeline(self) -> list[dict[str, Any]]:
        """Its events, in the order of cause and effect."""
        seen = self.rehearsed.seen
        return [] if seen is None else timeline(seen, self.rehearsed.reversal)

    def interruption(self) -> str:
        """What was interrupted, and how."""
        seen = self.rehearsed.seen
        return "" if seen is None else seen.interruption.sentence


def judged(rehearsed: Rehearsed) -> Judged:
    """Judge one rehearsal. What was not seen is never ok; a recovery that never came is failed."""
    seen = rehearsed.seen
    if seen is None:
        unseen = Check("to be seen", rehearsed.told, _verdict_unseen(rehearsed))
        is_cancelled = rehearsed.job.point == CANCELLED
        return Judged(
            rehearsed,
            dict.fromkeys(CHECKS, unseen),
            _reversal(rehearsed),
            unseen if is_cancelled else None,
        )
    checks = {name: check(seen) for name, check in CHECKS.items()}
    cancellation = _cancellation(seen) if seen.point == CANCELLED else None
    return Judged(rehearsed, checks, _reversal(rehearsed), cancellation)


def _verdict_unseen(rehearsed: Rehearsed) -> Verdict:
    if rehearsed.is_not_run:
        return "not-run"
    is_failed = rehearsed.phase == "resume" and not rehearsed.is_stopped
    return "failed" if is_failed else "inconclusive"


def _reversal(rehearsed: Rehearsed) -> Check:
    expected = "every effect that the drill caused is reversed, and nothing is left"
    if rehearsed.left:
        return Check(expected, rehearsed.left, "failed")
    if not rehearsed.may_have_effects:
        verdict: Verdict = "not-run" if rehearsed.is_not_run else "inconclusive"
        return Check(expected, "the task was not sent", verdict)
    if rehearsed.reversal is None:
        told = f"{rehearsed.job.task.operation_id} was not undone: {rehearsed.not_reversed}"
        return Check(expected, told, "failed")
    read_back = rehearsed.reversal.effects
    evidence = evidence_of_effects(read_back)
    there = [effect for effect in read_back if effect["status"] != RELEASED]
    if there:
        told = f"{count(len(there), 'effect')} still there"
        return Check(expected, told, "failed", evidence)
    names = {(effect["operation_id"], effect["reservation"]) for effect in read_back}
    seen = rehearsed.seen
    observed = (seen.observation.effects or ()) if seen else ()
    if any((effect["operation_id"], effect["reservation"]) not in names for effect in observed):
        told = "an effect that was there is not told of any more"
        return Check(expected, told, "failed", evidence)
    return Check(expected, rehearsed.reversal.sentence, "ok", evidence)


def _cancellation(seen: Seen) -> Check:
    expected = "the effect stays: a stopped stream reverses nothing, and the tool still tells of it"
    effects = seen.observation.effects
    if effects is None:
        return Check(expected, "the tool system cannot be read", "inconclusive")
    evidence = evidence_of_effects(effects)
    there = [effect for effect in effects if effect["status"] != RELEASED]
    if not there or (len(there) > 1 and seen.task.retry != "read"):
        return Check(expected, f"{count(len(there), 'effect')} there", "failed", evidence)
    known = "and the log holds its result" if seen.results else "and the log does not know it"
    return Check(
        expected,
        f"cancelled, yet committed: {count(len(there), 'effect')}, {known}",
        "ok",
        evidence,
    )
