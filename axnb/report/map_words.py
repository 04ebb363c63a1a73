"""The map in words: groups of snapshots, whose they are, the target, and why the verdict is so."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from axnb.mapping import MappedSnapshot, StateMap
from axnb.report.view import capital
from axnb.text import count

#: Groups of snapshots, the most urgent first.
GROUPS: Mapping[str, str] = {
    "refused": "Refused",
    "unknown": "Unknown",
    "data-only": "Data only",
    "full": "Full",
}

#: What a group means for a restore.
WHY: Mapping[str, str] = {
    "refused": "no restore, or one with wrong content",
    "unknown": "nobody knows",
    "data-only": "files come back, memory does not",
    "full": "memory and files come back",
}


def target_words(target: Mapping[str, Any] | None) -> str:
    """The target that the settings describe, on one line."""
    if target is None:
        return "none is described: [target] in axnb.toml"
    told = [target["layout"] or f"built {target['built']}"]
    told += [", ".join(target[key]) for key in ("sandbox_classes", "architectures") if target[key]]
    if target["assets"] is not None:
        told.append(count(len(target["assets"]), "runtime file"))
    if target["templates"] is not None:
        told.append(count(len(target["templates"]), "template"))
    return ", ".join(told)


def sentences(found: StateMap) -> list[str]:
    """How far the verdict reaches, a sentence each; never empty."""
    total = count(len(found.snapshots), "snapshot")
    if not found.snapshots:
        told = ["No snapshot was read."]
    else:
        by = {r: sum(s.restorable == r for s in found.snapshots) for r in GROUPS}
        parts = [f"{n:,} {GROUPS[r].lower()}" for r, n in by.items() if n]
        told = [f"{total}: {', '.join(parts)}."]
    errors = [f for f in found.findings if f.severity == "error"]
    if errors:
        classes = sorted({f"{f.id} {f.name}" for f in errors})
        more = f", … {len(classes) - 6} more" if len(classes) > 6 else ""
        told.append(f"{count(len(errors), 'error')}: {', '.join(classes[:6])}{more}.")
    return [*told, *map(capital, found.doubts)]


def whose(snapshot: MappedSnapshot) -> str:
    """The conversation or actor that a snapshot is of, or what else it belongs to."""
    row = snapshot.row
    if row["is_golden"]:
        return f"golden {row['template'] or row['actor_name'] or ''}"
    if row["key_tag_uid"]:
        return f"tag {row['key_tag_uid']}"
    return str(row["conversation_id"] or row["actor_name"] or row["actor_uid"] or "(nobody)")


def as_time(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC; None for no time."""
    return None if moment is None else f"{moment.isoformat(timespec='seconds')}Z"


#: How a snapshot stands to its log, where that is bad: what is so, and what to do.
_RELATIONS: Mapping[str, tuple[str, str]] = {
    "gone": (
        "its record names a snapshot that is not in the bucket",
        "do not resume; look for the objects in a copy or an older version of the bucket.",
    ),
    "none": (
        "the bucket holds no snapshot of it",
        "there is nothing to restore: its harness starts anew, with what the log tells.",
    ),
    "log-ahead": (
        "its snapshot is older than the log",
        "compare before it resumes: what was logged since is not in the snapshot.",
    ),
    "snapshot-ahead": (
        "its snapshot is newer than the log",
        "compare before it resumes: the log lacks what the snapshot remembers.",
    ),
}


def endangered(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Where a conversation stands that no good snapshot restores, and what to do; None if one does.

    `row` is one of `StateMap.conversations`.
    """
    if row["relation"] in ("gone", "none"):
        return _RELATIONS[row["relation"]]
    if row["restorable"] == "refused":
        return (
            "the snapshot that it would start from cannot be restored",
            "do not resume before its actor starts from another snapshot, or anew.",
        )
    return _RELATIONS.get(row["relation"])
