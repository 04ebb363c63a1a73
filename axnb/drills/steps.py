"""A check of a drill with its verdict and its evidence: a step of its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from axnb.result import WORST, Verdict

Evidence = Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """One observation with its verdict."""

    expected: str
    observed: str
    verdict: Verdict
    evidence: tuple[Evidence, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The check as JSON."""
        return {
            "expected": self.expected,
            "observed": self.observed,
            "evidence": [dict(entry) for entry in self.evidence],
            "verdict": self.verdict,
        }


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict for several: never ok by what was not run."""
    found = set(verdicts)
    for verdict in ("failed", "inconclusive"):
        if verdict in found:
            return verdict
    if "not-run" not in found and found:
        return "ok"
    return "inconclusive" if "ok" in found else "not-run"


def rank(verdict: Verdict) -> int:
    """How bad a verdict is: 0 is the worst."""
    return WORST.index(verdict)
