"""What is suspicious about the state of an actor, told from its record alone.

created -> SUSPENDED -> RESUMING -> RUNNING -> SUSPENDING -> SUSPENDED   writes the bucket
RUNNING -> PAUSING -> PAUSED -> RESUMING                                 stays on one node
PAUSED -> SUSPENDING -> SUSPENDED                                        since 2026-08-10
any with a worker -> CRASHED                                             since 2026-07-08
RUNNING, PAUSED, CRASHED -> REVERTING -> SUSPENDED                       since 2026-09-16
SUSPENDED, CRASHED, later any -> DELETING -> gone
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from axnb.substrate.records import ActorRecord
from axnb.text import cut_middle, safe

#: A step of a workflow takes seconds; stuck ones were found after minutes (#1502, #1518, #1665).
PATIENCE = timedelta(minutes=10)

_MAY = frozenset({"RESUMING", "RUNNING", "SUSPENDING", "SUSPENDED"})
_JUNE = _MAY | {"PAUSING", "PAUSED"}
_JULY = _JUNE | {"CRASHED", "DELETING"}
_SEPTEMBER = _JULY | {"REVERTING"}

#: The states that an actor of a shape can be in.
LEGAL = {
    "may": _MAY,
    "may|june": _JUNE,
    "june": _JUNE,
    "july": _JULY,
    "august": _JULY,
    "september": _SEPTEMBER,
    "october": _SEPTEMBER,
    "september|october": _SEPTEMBER,
    "august|september|october": _SEPTEMBER,
    "mixed": _SEPTEMBER,
}

TRANSITIONS = frozenset({"RESUMING", "SUSPENDING", "PAUSING", "DELETING", "REVERTING"})
STABLE = frozenset({"RUNNING", "SUSPENDED", "PAUSED"})

#: Shapes whose builds may lack RevertActor: there a crashed actor can only be deleted.
_NO_REVERT = frozenset({"july", "august"})


@dataclass(frozen=True)
class Sighting:
    """An actor as an export of a known time shows it."""

    actor: ActorRecord
    at: datetime


def remarks(
    actor: ActorRecord,
    at: datetime | None = None,
    earlier: Sighting | None = None,
    patience: timedelta = PATIENCE,
) -> list[tuple[str, str]]:
    """Pairs of a class and a sentence; none for an actor that is as it should be.

    at        when the export was taken, in UTC: without it no age is told
    earlier   the same actor in an earlier export, for records that hold no times (May, June)

    unknown-state, illegal-state     a state without a name, or one that its shape does not have
    running-without-worker           RUNNING, and no worker is named
    worker-while-stopped             SUSPENDED, PAUSED or CRASHED, and a worker is named
    stuck-transition                 in a transition for longer than `patience`
    in-progress-while-stable         a snapshot is being written, says a record that is at rest
    in-progress-of-crashed           an actor crashed while its snapshot was written
    crashed-with-snapshot            CRASHED although a durable snapshot is recorded as complete
    crashed-without-snapshot         CRASHED, and none is recorded
    paused-nowhere                   PAUSED, and no node is named that holds its snapshot
    generation-out-of-order          a number that was used twice, or is above the last one
    other-template                   the latest snapshot was taken under another template
    mixed-shape                      fields of two generations in one record
    """
    found = [
        *_of_state(actor),
        *_of_worker(actor),
        *_of_age(actor, at, earlier, patience),
        *_of_writing(actor),
        *_of_crash(actor),
        *_of_generations(actor),
    ]
    return [(kind, f"Actor {_called(actor)} {sentence}.") for kind, sentence in found]


def _called(actor: ActorRecord) -> str:
    name = f"{actor.atespace}/{actor.name}" if actor.atespace else actor.name
    return cut_middle(safe(name), 80)


def _of_state(actor: ActorRecord) -> Iterator[tuple[str, str]]:
    if actor.shape == "mixed":
        yield "mixed-shape", "has fields of two generations of Substrate in one record"
    if actor.state not in _SEPTEMBER:
        yield "unknown-state", f"is in a state that axnb does not know ({actor.state})"
    elif actor.state not in LEGAL.get(actor.shape, _SEPTEMBER):
        yield "illegal-state", f"is {actor.state}, which records of its shape never are"


def _of_worker(actor: ActorRecord) -> Iterator[tuple[str, str]]:
    if actor.state == "RUNNING" and actor.worker is None:
        yield "running-without-worker", "is RUNNING and no worker is recorded"
    # REVERTING and DELETING may still hold one; CRASHED frees it in the same step.
    if actor.state in ("SUSPENDED", "PAUSED", "CRASHED") and actor.worker is not None:
        yield "worker-while-stopped", f"is {actor.state} and a worker is recorded"


def _of_age(
    actor: ActorRecord, at: datetime | None, earlier: Sighting | None, patience: timedelta
) -> Iterator[tuple[str, str]]:
    if actor.state not in TRANSITIONS or at is None:
        return
    since = actor.updated
    if since is None and earlier is not None and _is_unchanged(earlier.actor, actor):
        since = earlier.at
    if since is not None and at - since > patience:
        minutes = int((at - since).total_seconds() // 60)
        yield "stuck-transition", f"has been {actor.state} for at least {minutes:,} minutes"


def _is_unchanged(before: ActorRecord, after: ActorRecord) -> bool:
    """Was nothing written to the record in between? Its version is raised by each write."""
    same = (before.atespace, before.name, before.uid) == (after.atespace, after.name, after.uid)
    return same and before.state == after.state and before.version == after.version


def _of_writing(actor: ActorRecord) -> Iterator[tuple[str, str]]:
    is_writing = actor.in_progress is not None or bool(actor.in_progress_local)
    if is_writing and actor.state in STABLE:
        yield (
            "in-progress-while-stable",
            f"is {actor.state} and a snapshot is recorded as being written",
        )
    if is_writing and actor.state == "CRASHED":
        yield (
            "in-progress-of-crashed",
            "crashed while a snapshot was written; what lies there may be torn, and nobody owns it",
        )


def _of_crash(actor: ActorRecord) -> Iterator[tuple[str, str]]:
    if actor.state == "PAUSED" and not (actor.local and any(actor.local.nodes)):
        yield "paused-nowhere", "is PAUSED and no node is recorded that holds its snapshot"
    if actor.state != "CRASHED":
        return
    if actor.latest is None:
        yield "crashed-without-snapshot", "is CRASHED and has no durable snapshot"
    elif actor.shape in _NO_REVERT:
        yield (
            "crashed-with-snapshot",
            "is CRASHED although it has a durable snapshot, and its build can only delete it",
        )
    else:
        yield (
            "crashed-with-snapshot",
            "is CRASHED although it has a durable snapshot, to which a revert goes back",
        )


def _of_generations(actor: ActorRecord) -> Iterator[tuple[str, str]]:
    numbers = [s.generation for s in actor.snapshots if s.generation is not None]
    last = actor.last_generation
    if len(set(numbers)) != len(numbers) or (last is not None and max(numbers, default=0) > last):
        yield "generation-out-of-order", "has a snapshot whose generation was never given to it"
    latest = actor.latest
    uids = (latest.template_uid if latest else "", actor.template.uid)
    if all(uids) and uids[0] != uids[1]:
        yield (
            "other-template",
            "has a snapshot that was taken under another template: only its data is restored",
        )
