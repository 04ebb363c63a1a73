"""A map in the form of a result: all that its views show, so that they compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axnb.case.case import Case, ask
from axnb.mapping import ROOMS, MappedSnapshot, StateMap
from axnb.recorded import as_evidence, told_checks, without_folders
from axnb.report.charts import NO_SNAPSHOT
from axnb.report.commands import map_again
from axnb.report.map_words import (
    GROUPS,
    WHY,
    as_time,
    endangered,
    sentences,
    target_words,
    whose,
)
from axnb.report.words import SOURCE_KINDS
from axnb.result import Result
from axnb.settings import FILE_NAME
from axnb.started import Started
from axnb.text import safe

#: Snapshots of one group, and conversations, that are told in full; `answer` has all.
MOST_ROWS = 100

_ORPHANS = ("AX318", "AX319", "AX320")


@dataclass(frozen=True)
class AskedMap:
    """How a user asked for a map, by which it can be repeated, and when."""

    verify: bool = False
    #: Were the records taken of all atespaces?
    everywhere: bool = False
    #: The name of the settings' file.
    settings: str = ""
    accept_inconclusive: bool = False
    #: How SQLite files were read.
    live: bool = False
    wal: str = ""
    #: The name of the ax.yaml that says what would run now.
    ax_config: str = ""
    begun: Started = field(default_factory=Started)

    @classmethod
    def now(cls, settings: Path | None = None, **options: Any) -> AskedMap:
        """What is asked at this moment, and in this folder: its axnb.toml is read unasked."""
        if settings is None and Path(FILE_NAME).exists():
            settings = Path(FILE_NAME)
        return cls(settings="" if settings is None else settings.name, **options)

    def parameters(self) -> dict[str, Any]:
        """The parameters of a result, without what differs between two runs."""
        return {
            "verify": self.verify,
            "all_atespaces": self.everywhere,
            "settings": self.settings,
            "accept_inconclusive": self.accept_inconclusive,
            "live": self.live,
            "wal": self.wal,
            "ax_config": self.ax_config,
        }

    def options(self) -> list[str]:
        """The same as the command line takes it."""
        told = [f"--wal={self.wal}"] if self.wal else []
        told += [f"--ax-config={self.ax_config}"] if self.ax_config else []
        told += ["--live"] if self.live else []
        told += [f"--settings={self.settings}"] if self.settings else []
        told += ["--all-atespaces"] if self.everywhere else []
        return [*told, "--verify"] if self.verify else told


def map_result(case: Case, found: StateMap, asked: AskedMap) -> Result:
    """The result of a map."""
    with case.reading() as session:
        known = {row["name"]: row for row in ask(session, "sources")}
    locators = [known[source["name"]]["locator"] for source in found.sources]
    sources = as_evidence(found.sources, locators)
    doubts = [without_folders(doubt, locators) for doubt in found.doubts]
    answer = {**found.as_dict(), "sources": sources, "doubts": doubts}
    rows = [{**source, "locator": at} for source, at in zip(sources, locators, strict=True)]
    again = map_again(rows, asked.options()) if not found.skipped else None
    return Result(
        drill="map",
        verdict=found.verdict,
        examined=_examined(found),
        why=tuple(without_folders(sentence, locators) for sentence in _why(found)),
        measures=_measures(found),
        parameters={**asked.parameters(), "target": target_words(found.target)},
        sources=tuple(sources),
        actions=tuple(_groups(found)),
        findings=tuple(answer["findings"]),
        checks=tuple(told_checks(found.findings, ROOMS)),
        scope=found.scope,
        answer=answer,
        run=asked.begun.block(locators, target_words(found.target), again or []),
    )


def _examined(found: StateMap) -> tuple[str, ...]:
    told = [
        "{name}: {called}, read {read:,} = parsed {parsed:,} + rejected {rejected:,}".format(
            **source, called=SOURCE_KINDS.get(source["kind"], source["kind"])
        )
        for source in found.sources
    ]
    return (*told, f"Target: {target_words(found.target)}")


def _why(found: StateMap) -> list[str]:
    told = [safe(sentence) for sentence in sentences(found)]
    if found.verdict == "ok":
        told.append(
            "No check found an error, and nothing that was read is in doubt. That proves neither "
            "that the bucket is complete nor that a content is the one that was written."
        )
    return told


def _measures(found: StateMap) -> dict[str, int]:
    by = {name: sum(s.restorable == name for s in found.snapshots) for name in GROUPS}
    measures = {"snapshots": len(found.snapshots)}
    measures |= {name.replace("-", "_"): number for name, number in by.items()}
    measures["orphans"] = sum(finding.id in _ORPHANS for finding in found.findings)
    if found.conversations:
        measures["conversations"] = len(found.conversations)
        measures["endangered"] = sum(endangered(c) is not None for c in found.conversations)
    return {**measures, "secrets": len(found.secrets)}


def _groups(found: StateMap) -> list[dict[str, Any]]:
    """Conversations without a good snapshot, then snapshots by what a restore gives back."""
    groups = []
    if told := [row for row in found.conversations if endangered(row)]:
        groups.append(_endangered(found, told))
    for restorable, title in GROUPS.items():
        chosen = [s for s in found.snapshots if s.restorable == restorable]
        if chosen:
            # Those that something starts from come first.
            chosen.sort(key=lambda s: (not s.row["is_current"], s.key))
            groups.append(
                {
                    "action": restorable,
                    "title": title,
                    "count": len(chosen),
                    "reason": WHY[restorable],
                    "findings": _ids(chosen) if restorable == "refused" else [],
                    "conversations": [],
                    "snapshots": [_told(s) for s in chosen[:MOST_ROWS]],
                }
            )
    return groups


def _endangered(found: StateMap, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    about: dict[str, set[str]] = {}
    for finding in found.findings:
        if finding.conversation_id is not None:
            about.setdefault(finding.conversation_id, set()).add(finding.id)
    told = []
    for row in rows[:MOST_ROWS]:
        standing, advice = endangered(row) or ("", "")
        told.append(
            {
                "source": row["source"],
                "conversation_id": row["conversation_id"],
                "last_step": None,
                "standing": standing,
                "advice": advice,
                "findings": sorted(about.get(row["conversation_id"], ())),
            }
        )
    return {
        "action": NO_SNAPSHOT,
        "title": "Conversations without a good snapshot",
        "count": len(rows),
        "reason": "their harness cannot go on from where the log ends",
        "findings": [],
        "conversations": told,
    }


def _ids(snapshots: Sequence[MappedSnapshot]) -> list[str]:
    return sorted({identity for s in snapshots for identity in s.findings})


def _told(snapshot: MappedSnapshot) -> dict[str, Any]:
    row = snapshot.row
    return {
        "source": row["source"],
        "key": snapshot.key,
        "whose": whose(snapshot),
        "layout": row["generation"],
        "content": row["content"],
        "taken_at": as_time(row["moment"]),
        "current": bool(row["is_current"]),
        "because": _because(snapshot),
        "findings": list(snapshot.findings),
    }


def _because(snapshot: MappedSnapshot) -> str:
    told = snapshot.judged.decision.because
    if snapshot.judged.assumed:
        told += f" (assumed: {'; '.join(snapshot.judged.assumed)})"
    return told
