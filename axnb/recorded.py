"""How checks that ran, and sources that were read, stand in a result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from axnb.checks.registry import checks
from axnb.result import Finding

#: When a bucket was listed: of a custody this alone differs between two runs on one evidence.
_TIMES = ("first_page", "last_page")


def told_checks(
    findings: Sequence[Finding], rooms: str = "", *, has_state: bool = True
) -> list[dict[str, Any]]:
    """Every check that ran, with its version; the query and the reason of those that found.

    `rooms` are the first digits of their numbers; empty for all. `has_state`: was a bucket read, or
    were records?
    """
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.id] = counts.get(finding.id, 0) + 1
    told = []
    for check in checks():
        if rooms and check.id[2] not in rooms:
            continue
        if not has_state and "snapshots" in check.needs:
            continue
        entry: dict[str, Any] = {
            "id": check.id,
            "name": check.name,
            "severity": check.severity,
            "version": hashlib.sha256(check.sql.encode()).hexdigest()[:12],
            "found": counts.get(check.id, 0),
        }
        if check.id in counts:
            entry |= {"explanation": check.explanation, "sql": check.sql}
        told.append(entry)
    return told


def as_evidence(
    sources: Iterable[Mapping[str, Any]], locators: Iterable[str]
) -> list[dict[str, Any]]:
    """Sources as they stand in a result: the same whenever and wherever a copy was read."""
    places = list(locators)
    return [
        {
            **source,
            "custody": {n: v for n, v in source["custody"].items() if n not in _TIMES},
            "notes": [without_folders(note, places) for note in source["notes"]],
            "incomplete": [without_folders(told, places) for told in source["incomplete"]],
        }
        for source in sources
    ]


def without_folders(sentence: str, locators: Iterable[str]) -> str:
    """A sentence in which a folder that holds a bucket is called by its name alone."""
    for locator in locators:
        if locator.startswith("file://"):
            sentence = sentence.replace(locator, locator.rstrip("/").rpartition("/")[2])
    return sentence
