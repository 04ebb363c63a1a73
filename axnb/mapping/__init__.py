"""The map: which snapshot belongs to which conversation, actor, template, image and runtime; is it
whole; would the described target restore it.

Everything here is a reading of the case. `state_map` returns a `StateMap`, which the command line,
a notebook and a report show.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import duckdb

from axnb.case.case import Case, ask
from axnb.checks.kept import digest_key
from axnb.checks.registry import checks, run_checks
from axnb.checks.told import told_finding
from axnb.mapping.answer import MappedSnapshot, StateMap, ids_by_snapshot
from axnb.mapping.prepare import is_loaded, prepare
from axnb.result import Finding, judge
from axnb.settings_target import TargetSettings
from axnb.text import count

__all__ = ["ROOMS", "MappedSnapshot", "StateMap", "is_loaded", "prepare", "state_map"]

#: Rooms of findings that a map tells: snapshots, contexts, secrets.
ROOMS = "356"


def state_map(case: Case, skipped: Sequence[str] = ()) -> StateMap:
    """Map all that a case holds. `skipped` says of sources that could not be loaded why not."""
    target = case.settings.target
    with case.reading() as session:
        judged = prepare(session, target)
        findings = _findings(session)
        ids = ids_by_snapshot(findings)
        snapshots = tuple(
            MappedSnapshot(
                row, judged[row["source"], row["snapshot"]], ids.get(row["snapshot"], ())
            )
            for row in ask(session, "mapped")
        )
        sources = tuple(_source(row) for row in ask(session, "sources"))
        secrets = tuple(_secret(row, snapshots) for row in ask(session, "secret_groups"))
        doubts = (*skipped, *_doubts(session, sources, snapshots))
        return StateMap(
            verdict=judge(findings, doubts),
            target=_told(target),
            sources=sources,
            snapshots=snapshots,
            actors=tuple(ask(session, "mapped_actors")),
            conversations=tuple(ask(session, "mapped_conversations")),
            secrets=secrets,
            findings=findings,
            doubts=doubts,
            scope=tuple(_scope(sources, snapshots, target)),
            skipped=tuple(skipped),
        )


def _findings(session: duckdb.DuckDBPyConnection) -> tuple[Finding, ...]:
    session.execute(
        "create or replace temp table asked_ids as select conversation_id from conversations"
    )
    run_checks(session, [check for check in checks() if check.id[2] in ROOMS])
    key = digest_key(session)
    return tuple(told_finding(row, key) for row in ask(session, "findings"))


def _source(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": row["name"],
        "kind": row["kind"],
        "generations": sorted(row["generations"]),
        "read": row["read"],
        "parsed": row["parsed"],
        "rejected": row["rejected"],
        "custody": json.loads(row["custody"]),
        "notes": list(row["notes"]),
        "incomplete": list(row["incomplete"]),
    }


def _secret(row: dict[str, Any], snapshots: Sequence[MappedSnapshot]) -> dict[str, Any]:
    """A secret with the snapshots that would bring it back: those that restore, or may."""
    held = set(row["snapshots"] or ())
    revived = [s.key for s in snapshots if s.key in held and s.restorable != "refused"]
    return {
        "digest": row["digest"],
        "kind": row["kind"],
        "name": row["name"],
        "is_partial": row["is_partial"],
        "places": row["places"],
        "kinds_of_place": list(row["kinds_of_place"]),
        "snapshots": sorted(held),
        "revived_by": sorted(revived),
        "conversations": list(row["conversations"] or ()),
    }


def _told(target: TargetSettings | None) -> dict[str, Any] | None:
    if target is None:
        return None
    told = {name: _plain(value) for name, value in asdict(target).items()}
    if target.templates is not None:
        told["templates"] = {
            name: {"uid": template.uid, "assets": _plain(template.assets)}
            for name, template in sorted(target.templates.items())
        }
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def _doubts(
    session: duckdb.DuckDBPyConnection,
    sources: Sequence[dict[str, Any]],
    snapshots: Sequence[MappedSnapshot],
) -> Iterator[str]:
    """Why the verdict cannot be ok, whatever the findings say."""
    kinds = {source["kind"] for source in sources}
    if "bucket" not in kinds:
        yield "no bucket was read."
    for source in sources:
        if source["kind"] in ("bucket", "records"):
            yield from source["incomplete"]
            if source["rejected"]:
                what = "record" if source["kind"] == "records" else "object"
                yield f"{count(source['rejected'], what)} of {source['name']} could not be read."
    if "records" not in kinds:
        yield "no records were given: nobody knows which snapshots are still wanted."
    else:
        covered = {kind for (kind,) in session.execute("select kind from searched").fetchall()}
        if "actor" not in covered:
            yield "no whole list of actors was given: nothing is called an orphan of an actor."
        gone = [s for s in snapshots if s.row["owner_presence"] in ("absent", "reused")]
        if not all(s.row["tags_are_known"] for s in gone):
            yield "no whole list of tags was given: one may hold what an actor left behind."
    unknown = [s for s in snapshots if _matters(s) and s.restorable == "unknown"]
    if unknown:
        yield (
            f"whether {count(len(unknown), 'snapshot')} can be restored is not known, the first "
            f"because {unknown[0].judged.decision.because}."
        )


def _matters(snapshot: MappedSnapshot) -> bool:
    """Would something start from it? Where no record tells, from any."""
    row = snapshot.row
    return bool(row["is_current"]) or row["owner_presence"] == "unknown"


def _scope(
    sources: Sequence[dict[str, Any]],
    snapshots: Sequence[MappedSnapshot],
    target: TargetSettings | None,
) -> Iterator[str]:
    kinds = {source["kind"] for source in sources}
    missing = [
        word
        for kind, word in (
            ("eventlog", "an event log"),
            ("bucket", "a bucket (--snapshots)"),
            ("records", "records of the control plane (--records)"),
        )
        if kind not in kinds
    ]
    if missing:
        yield f"Not looked at: {', '.join(missing)}."
    if any(not s.row["verified"] for s in snapshots):
        yield "Bodies of objects were not read (--verify): what is complete is not verified."
    if target is None:
        yield "No target is described ([target] in axnb.toml): nothing is called restorable."
    yield (
        "Substrate keeps no digests of what it stores: whatever decodes may still be another "
        "content than was written."
    )
