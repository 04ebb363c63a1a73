"""What became of the side effect, in one word and one sentence, and whether a person is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from axnb.drills.resume.seen import Seen
from axnb.drills.steps import Check

EffectClass = Literal["executed", "reused", "re-executed", "uncertain", "not-executed"]


def effect_class(seen: Seen) -> EffectClass:
    """What became of the task's side effect.

    executed      it was done once, by the resume; or at a time that nobody can tell
    reused        it was done before the interruption, and its result was found again
    re-executed   the tool was asked again
    uncertain     nobody can tell from the log, or nobody can read the tool
    not-executed  the tool's ledger says that there is none
    """
    observation = seen.observation
    if observation.effects is None:
        return "uncertain"
    if observation.requests is not None and len(observation.requests) > 1:
        return "re-executed"
    if not observation.effects:
        return "not-executed"
    if not seen.results:
        return "uncertain"
    return "reused" if seen.interruption.requests else "executed"


def needs_person(seen: Seen, checks: Mapping[str, Check]) -> bool:
    """Must a person do something before the conversation can be used, or the effect be trusted?"""
    trusted = all(checks[name].verdict == "ok" for name in ("state", "side-effect"))
    return not trusted or bool(seen.asks)


def why(seen: Seen, checks: Mapping[str, Check]) -> str:
    """The point in a sentence."""
    found = effect_class(seen)
    effects = len(seen.observation.effects or ())
    told = {
        "executed": "the task was done once"
        + ("" if seen.interruption.requests is None else ", by the resume"),
        "reused": "the effect of before was found by its operation id, and not repeated",
        "uncertain": "an effect exists and the log does not know it"
        if effects
        else "nobody can tell whether there is an effect",
        "not-executed": "nothing was done",
        "re-executed": f"the tool was asked again: {effects} effects of one operation"
        if effects > 1
        else "the tool was asked again, and took it for the same operation",
    }[found]
    if not seen.is_usable:
        return f"{told}; every later request is refused"
    if seen.resumed.error is not None:
        return f"{told}; the resume was refused"
    if seen.asks:
        return f"{told}; a person is asked"
    if checks["log-sequence"].verdict == "failed":
        return f"{told}; {checks['log-sequence'].observed}"
    return told
