"""The evidence of a check, which is the same for the same rehearsal.

Evidence holds no payload: rows by step and keyed digest, objects by key and digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from axnb.checks.told import keyed
from axnb.drills.resume.seen import Seen, told_error
from axnb.drills.steps import Evidence
from axnb.runtimes import Answer, Output

#: The status of an effect that was undone.
RELEASED = "released"


def row_evidence(seen: Seen, step: int, digest: str) -> Evidence:
    """A row of the log."""
    # A plain digest of a short payload can be guessed.
    return {"kind": "row", "step": step, "digest": keyed(digest, seen.log.key)}


def object_evidence(key: str, digest: str) -> Evidence:
    """What a snapshot holds."""
    # Where a run has put its snapshots differs from run to run.
    head, sign, tail = key.partition("snapshots/")
    return {"kind": "object", "key": sign + tail if sign else head, "sha256": digest}


def ledger_evidence(effect: Mapping[str, Any]) -> Evidence:
    """An entry of the tool's ledger."""
    # Not the entry's number: other rehearsals write to the same ledger.
    names = ("operation_id", "status", "reservation")
    return {"kind": "ledger", **{name: effect[name] for name in names if name in effect}}


def evidence_of_effects(effects: Iterable[Mapping[str, Any]]) -> tuple[Evidence, ...]:
    """Entries of the tool's ledger as evidence."""
    return tuple(map(ledger_evidence, effects))


def request_evidence(request: Mapping[str, Any]) -> Evidence:
    """A request that the tool got."""
    names = ("operation_id", "attempt")
    return {"kind": "request", **{name: request[name] for name in names if name in request}}


def output_evidence(output: Output) -> Evidence:
    """An output that a client got."""
    return {"kind": "output", "number": output.number, "of": output.kind}


def answer_evidence(answer: Answer) -> Evidence:
    """What a client got for a request."""
    return {
        "kind": "answer",
        "request": "empty" if not answer.sent else "input",
        "outputs": [[output.number, output.kind] for output in answer.outputs],
        "error": told_error(answer),
        "cancelled": answer.cancelled,
    }


def alert_evidence(alert: Mapping[str, Any]) -> Evidence:
    """An alert."""
    labels = {name: alert["labels"][name] for name in sorted(alert["labels"])}
    return {"kind": "alert", "state": alert["state"], "labels": labels}
