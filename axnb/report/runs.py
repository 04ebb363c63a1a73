"""What results have in common: the block `run`, the checks that ran, sources as evidence."""

from __future__ import annotations

import getpass
import hashlib
import platform
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from axnb import __version__
from axnb.checks.registry import checks
from axnb.report.commands import file_name
from axnb.result import Finding

#: When a bucket was listed: of a custody this alone differs between two runs on one evidence.
_TIMES = ("first_page", "last_page")


@dataclass(frozen=True)
class Started:
    """When something was asked."""

    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.monotonic)

    def block(self, locators: Iterable[str], asked_as: str, again: Iterable[str]) -> dict[str, Any]:
        """The block `run`: all that may differ between two runs on the same evidence.

        `again` are the words of a command that gives the answer again where the files lie.
        """
        return {
            "id": uuid.uuid4().hex,
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self.clock, 3),
            "axnb": __version__,
            "python": platform.python_version(),
            "platform": platform.system(),
            "user": _user(),
            "locators": [file_name(locator) for locator in locators],
            "asked_as": asked_as,
            "again": " ".join(again),
        }


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


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
