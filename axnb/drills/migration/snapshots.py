"""Snapshots and the target: what a restore gives back, by `axnb map`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from axnb.drills.steps import Check, Evidence
from axnb.mapping import StateMap
from axnb.text import count

_WORDS = ("full", "data-only", "refused", "unknown")
_MOST_SHOWN = 20


def counted(mapped: StateMap) -> dict[str, Any]:
    """How many snapshots of each layout the target of the settings restores, and how."""
    layouts: dict[str, Counter[str]] = {}
    for snapshot in mapped.snapshots:
        layout = str(snapshot.row["generation"])
        layouts.setdefault(layout, Counter())[snapshot.restorable] += 1
    return {
        "target": mapped.target,
        "layouts": [
            {"layout": layout, **{word: found[word] for word in _WORDS}}
            for layout, found in sorted(layouts.items())
        ],
        "skipped": list(mapped.skipped),
    }


def check_snapshots(mapped: StateMap) -> Check:
    """Would the target restore every snapshot from which something starts?"""
    expected = "the target restores every whole snapshot from which a conversation goes on"
    # Where no record tells which are current, any may be.
    current = [s for s in mapped.snapshots if s.row["is_current"]] or list(mapped.snapshots)
    words = Counter(s.restorable for s in current)
    told = ", ".join(f"{words[word]} {word}" for word in _WORDS if words[word])
    told = f"{count(len(current), 'snapshot')}: {told}" if current else "there is no snapshot"
    shown: tuple[Evidence, ...] = tuple(
        {"snapshot": s.key, "restorable": s.restorable, "because": s.judged.decision.because}
        for s in current
        if s.restorable != "full"
    )[:_MOST_SHOWN]
    # What is torn in the bucket would be refused by any target: that wound is the source's own.
    if any(s.restorable == "refused" and s.row["is_complete"] for s in current):
        return Check(expected, told, "failed", shown)
    if words["unknown"] or not current or mapped.skipped:
        return Check(expected, told, "inconclusive", shown)
    return Check(expected, told, "ok", shown)
