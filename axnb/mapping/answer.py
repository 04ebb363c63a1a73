"""What the map answers: plain data, with the stable JSON `axnb.map/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from axnb.mapping.judging import Judged
from axnb.result import Finding, Verdict

Row = Mapping[str, Any]


@dataclass(frozen=True)
class MappedSnapshot:
    """A snapshot with all that it belongs to, and how that is known."""

    row: Row
    judged: Judged
    findings: tuple[str, ...]

    @property
    def key(self) -> str:
        """The prefix of its objects' keys."""
        return str(self.row["snapshot"])

    @property
    def restorable(self) -> str:
        """`full`, `data-only`, `refused` or `unknown`."""
        return self.judged.decision.restorable

    def as_dict(self) -> dict[str, Any]:
        """An entry of `snapshots`."""
        row, decision = self.row, self.judged.decision
        return {
            "source": row["source"],
            "key": self.key,
            "layout": row["generation"],
            "layout_why": row["generation_why"],
            "conversation_id": row["conversation_id"],
            "actor": self._actor(),
            "template": self._template(),
            "image": [image["digest"] or image["image"] for image in row["images"]],
            "images": [dict(image) for image in row["images"]],
            "runtime": {
                "class": row["sandbox_class"],
                "version": row["runsc_version"],
                "assets": [dict(asset) for asset in row["assets"]],
                "pause_image": row["pause_image"],
            },
            "content": row["content"],
            "golden": row["is_golden"],
            "taken_at": _time(row["moment"]),
            "objects": row["objects"],
            "bytes": row["bytes"],
            "complete": row["is_complete"],
            "verified": row["verified"],
            "current": row["is_current"],
            "restorable": decision.restorable,
            "rule": decision.rule,
            "because": decision.because,
            "code": decision.code or None,
            "reason": decision.reason or None,
            "assumed": list(self.judged.assumed),
            "how": self._how(),
            "findings": list(self.findings),
        }

    def _actor(self) -> dict[str, Any] | None:
        row = self.row
        if row["actor_name"] is None and row["actor_uid"] is None:
            return None
        return {
            "atespace": row["actor_atespace"],
            "name": row["actor_name"],
            "uid": row["actor_uid"],
        }

    def _template(self) -> dict[str, Any] | None:
        row = self.row
        if row["template"] is None and row["template_uid"] is None:
            return None
        return {"name": row["template"], "uid": row["template_uid"]}

    def _how(self) -> dict[str, str]:
        """How each link is known: record, manifest, key, name or none."""
        row = self.row
        by_uid = row["template_uid"] is not None
        return {
            "actor": row["actor_how"] or "none",
            "conversation_id": (row["actor_how"] or "none") if row["conversation_id"] else "none",
            "template": row["template_how"] or "none",
            "image": ("record" if by_uid else "name") if row["images"] else "none",
            "runtime": "manifest" if row["assets"] else "none",
            "layout": "manifest" if row["manifest"] == "read" else "key",
            "taken_at": row["moment_how"] or "none",
        }


@dataclass(frozen=True)
class StateMap:
    """What maps to what."""

    verdict: Verdict
    #: The target as the settings describe it; None where they do not.
    target: Mapping[str, Any] | None
    sources: tuple[Row, ...]
    snapshots: tuple[MappedSnapshot, ...]
    actors: tuple[Row, ...]
    conversations: tuple[Row, ...]
    secrets: tuple[Row, ...]
    findings: tuple[Finding, ...]
    #: Why the verdict is not ok, as far as no finding says it.
    doubts: tuple[str, ...]
    scope: tuple[str, ...]
    #: Why a source could not be read; `doubts` have it too.
    skipped: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The map as `axnb.map/1`."""
        return {
            "schema": "axnb.map/1",
            "verdict": self.verdict,
            "target": self.target,
            "sources": [dict(source) for source in self.sources],
            "snapshots": [snapshot.as_dict() for snapshot in self.snapshots],
            "actors": [_actor(row) for row in self.actors],
            "conversations": [_conversation(row) for row in self.conversations],
            "secrets": [dict(row) for row in self.secrets],
            "findings": [finding.as_dict() for finding in self.findings],
            "doubts": list(self.doubts),
            "scope": list(self.scope),
        }


def _actor(row: Row) -> dict[str, Any]:
    latest = row["latest"] or row["latest_name"]
    return {
        "atespace": row["atespace"],
        "name": row["name"],
        "uid": row["uid"],
        "state": row["state"],
        "template": row["template"],
        "template_uid": row["template_uid"],
        "latest": latest,
        "latest_is_there": None if latest is None else row["found"] is not None,
        "restorable": row["restorable"],
        "snapshots": row["snapshots"],
        "newest_complete": row["newest_complete"],
        "change": row["change"],
    }


def _conversation(row: Row) -> dict[str, Any]:
    return {
        "source": row["source"],
        "conversation_id": row["conversation_id"],
        "generations": sorted(row["generations"]),
        "actor": row["actor"],
        "actor_uid": row["actor_uid"],
        "actor_state": row["actor_state"],
        "snapshot": row["snapshot"],
        "restorable": row["restorable"],
        "relation": row["relation"],
        "context": [dict(part) for part in row["context"]],
        "how": {
            "actor": row["actor_how"] or "none",
            "snapshot": row["snapshot_how"] or "none",
            "context": "row" if row["context"] else "none",
        },
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else f"{at.isoformat(timespec='seconds')}Z"


def ids_by_snapshot(findings: Sequence[Finding]) -> dict[str, tuple[str, ...]]:
    """The classes of findings about each snapshot."""
    found: dict[str, set[str]] = {}
    for finding in findings:
        if finding.snapshot is not None:
            found.setdefault(finding.snapshot, set()).add(finding.id)
    return {snapshot: tuple(sorted(ids)) for snapshot, ids in found.items()}
