"""Wounds of whom a snapshot belongs to: an actor, a tag, a template, a conversation's log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from axnb.testing.buckets import WOUNDS
from axnb.testing.fleet import Actor
from axnb.testing.logs import LogBuilder, say
from axnb.testing.state import StateBuilder
from tests.checks.states import Make, State, StatePair, alone, last, state_of
from tests.checks.wounds_objects import AUGUST, JUNE, LAST, LATE_JULY, SEPTEMBER, healthy
from tests.checks.wounds_records import ACTOR, after, on_actor
from tests.checks.wounds_records import prefix_of as _prefix

_OTHER = "00000000-0000-4000-8000-000000000000"


def _two(shape: str = "august", **options: Any) -> Make:
    """Two conversations, with their logs."""

    def make() -> State:
        built = alone(shape)
        built.actor("conv-0002")
        return state_of(built, logged=True, **options)

    return make


_TWO = _two()


def _logged(change: Callable[[StateBuilder], Any], make: Make = _TWO) -> Make:
    """The same with something done to it before it is written."""

    def made() -> State:
        state = make()
        change(state.built)
        return state

    return made


def _removed(name: str) -> Callable[[StateBuilder], None]:
    """Take an actor out of the records; its snapshots stay."""

    def change(built: StateBuilder) -> None:
        actors = tuple(a for a in built.fleet.actors if a.name != name)
        built.fleet = replace(built.fleet, actors=actors)

    return change


def _other_harness() -> State:
    """Conversations of a harness that has no actor and no snapshot: it runs elsewhere."""
    state = _two()()
    log = LogBuilder("G8", harness="shell")
    log.turn("local-1", "hi", say("done"))
    state.built.log.rows += log.rows
    return state


def _without(name: str) -> Callable[[StateBuilder], None]:
    """Take a conversation out of the log."""

    def change(built: StateBuilder) -> None:
        built.log.rows = [row for row in built.log.rows if row.conversation_id != name]

    return change


def _never_written(built: StateBuilder) -> None:
    """Its record names no snapshot, and the bucket has none."""
    built.remove(built.built[-1])
    on_actor(snapshots=())(built)


def _demo() -> State:
    """A program that is not AX keeps its actors in the same bucket, below another location."""
    built = alone("june", "B1b")
    built.bucket.location = "ate-demo-counter"
    built.bucket.snapshot("B1b", actor_name="counter")
    built.bucket.location = "ax-agent"
    return state_of(built, logged=True, kinds=())


def _cloned(**options: Any) -> Make:
    """A tag, a clone that borrows, and the source's later snapshots."""

    def make() -> State:
        built = alone("august")
        tag = built.tag("good", built.fleet.actors[-1])
        built.clone("conv-0003", tag)
        actor = built.actor("conv-0002", 3)
        built.tag("old", replace(actor, snapshots=actor.snapshots[:1]))
        return state_of(built, **options)

    return make


def _deleted(shape: str, generation: str = "", **options: Any) -> Make:
    """An actor was deleted, another one is there."""

    def make() -> State:
        built = StateBuilder(shape, generation)
        built.template()
        built.actor("conv-0001")
        built.actor("conv-0002")
        built.fleet = replace(
            built.fleet, actors=tuple(a for a in built.fleet.actors if a.name != "conv-0001")
        )
        return state_of(built, **options)

    return make


def _tagged_and_deleted() -> State:
    built = alone("august")
    built.tag("good", built.fleet.actors[-1])
    built.actor("conv-0002")
    built.delete("conv-0001")
    return state_of(built)


def _tag(*, listed: bool) -> Make:
    def make() -> State:
        built = alone("september")
        built.tag("good", built.fleet.actors[-1])
        built.tag("other", built.fleet.actors[-1])
        if not listed:
            tags = tuple(t for t in built.fleet.tags if t.name != "good")
            built.fleet = replace(built.fleet, tags=tags)
        return state_of(built)

    return make


def _recreated(shape: str) -> Make:
    """The actor of a name was deleted and made anew."""

    def make() -> State:
        built = alone(shape)
        old: Actor = built.fleet.actors[-1]
        new = replace(old, uid=_OTHER, snapshots=())
        built.fleet = replace(built.fleet, actors=(*built.fleet.actors[:-1], new))
        return state_of(built)

    return make


def _no_template(built: StateBuilder) -> None:
    (template,) = built.fleet.templates
    other = replace(template, name="other", uid="t-2", golden=None)
    golden = built.fleet.actors[0] if built.fleet.actors[0].atespace == "ate-golden" else None
    actors = tuple(a for a in built.fleet.actors if a is not golden)
    built.fleet = replace(built.fleet, templates=(other,), actors=actors)


def _g3(*, minutes: int) -> Make:
    """Executions of G3 tell when the log was written; the snapshot was taken so much later."""

    def make() -> State:
        built = StateBuilder("may")
        log = LogBuilder("G3")
        log.turn("conv-0001", "hi", say("done"))
        built.template()
        written = built.now.replace(month=5, day=22, hour=10, minute=0, second=1)
        built.now = written + timedelta(minutes=minutes - 60)
        built.actor("conv-0001", turns=False)
        return state_of(built, log=log)

    return make


def _served(
    *, hours: int, heard: bool = True, state: str = "SUSPENDED", shape: str = "june"
) -> Make:
    """A server's log tells of the last request, so long after the snapshot (before, if < 0)."""

    def make() -> State:
        built = StateBuilder(shape)
        built.template()
        built.actor("conv-0001", state=state)
        (line,) = built.server_log
        at = built.now + timedelta(hours=hours)
        lines = [line | {"time": built._text(at)}]
        if heard:
            later = built._text(built.now + timedelta(days=9))
            lines.append({"time": later, "level": "INFO", "msg": "Starting AX server"})
        return state_of(built, log=built.log, server_log=tuple(lines))

    return make


def _release(version: str) -> Callable[[StateBuilder], None]:
    def change(built: StateBuilder) -> None:
        snapshot = built.built[-1]
        assert snapshot.manifest is not None
        url = f"gs://gvisor/releases/release/{version}/x86_64/gvisor.tar.bz2"
        snapshot.manifest["assets"]["gvisor"]["url"] = url
        built.bucket.put_manifest(snapshot)

    return change


def _other_actor(built: StateBuilder) -> None:
    WOUNDS["other-actor"](built.bucket, built.built[-1])


def _points_to_anothers(built: StateBuilder) -> None:
    """The record of one actor names the snapshot of another, from which it was not cloned."""
    other = built.fleet.actors[-1].snapshots
    built.actor("conv-0002", 0, turns=False)
    on_actor(snapshots=other)(built)


PAIRS: dict[str, list[StatePair]] = {
    "AX311": [
        StatePair(after(_other_actor), [(ACTOR, f"{LAST}/manifest.json")], _cloned()),
        StatePair(
            after(_other_actor, "october"),
            [(ACTOR, f"{last('october')}/manifest.json")],
            healthy("october"),
        ),
        StatePair(
            after(_points_to_anothers, "june", "B1b"),
            [(ACTOR, f"{last('june', 'B1b')}/manifest.json")],
            JUNE,
        ),
    ],
    "AX312": [
        StatePair(_logged(_without("conv-0001")), [(ACTOR, LAST)], _two()),
        StatePair(_logged(_without("conv-0001"), _two("june")), [(ACTOR, last("june"))], _demo),
    ],
    "AX313": [
        StatePair(_logged(_never_written), [("conv-0002", None)], _other_harness),
        StatePair(
            _logged(_never_written, _two("september")), [("conv-0002", None)], _two("september")
        ),
    ],
    "AX314": [
        StatePair(
            _logged(_removed("conv-0002")), [("ax/conv-0002", _prefix(_two(), -1))], _other_harness
        ),
    ],
    "AX318": [
        StatePair(_deleted("august"), [(ACTOR, LAST)], _tagged_and_deleted),
        StatePair(_deleted("late-july"), [(ACTOR, last("late-july"))], LATE_JULY),
        StatePair(_deleted("june", "B1b"), [(ACTOR, last("june", "B1b"))], JUNE),
        StatePair(_deleted("september"), [(ACTOR, last("september"))], SEPTEMBER),
        # Of what was not searched nothing is called an orphan.
        StatePair(
            _deleted("august", kinds=("actors", "snapshots", "templates")),
            [(ACTOR, LAST)],
            _deleted("august", kinds=("snapshots", "templates")),
        ),
        StatePair(
            _deleted("august"), [(ACTOR, LAST)], _deleted("august", kinds=("tags", "templates"))
        ),
    ],
    "AX319": [
        StatePair(_tag(listed=False), [(None, _prefix(_tag(listed=True), -2))], _tag(listed=True))
    ],
    "AX320": [
        StatePair(after(_no_template), [(None, _prefix(AUGUST, 0))], AUGUST),
        StatePair(after(_no_template, "september"), [(None, _prefix(SEPTEMBER, 0))], SEPTEMBER),
    ],
    "AX323": [
        StatePair(
            after(_release("20260622"), verify=True),
            [(None, f"{LAST}/manifest.json")],
            after(_release("20260803"), verify=True),
        )
    ],
    "AX329": [
        StatePair(
            _served(hours=2), [("conv-0001", last("june"))], _served(hours=2, state="RUNNING")
        ),
        StatePair(_g3(minutes=-5), [("conv-0001", _prefix(_g3(minutes=-5), -1))], _g3(minutes=1)),
        # Without a time of the snapshot nothing is said.
        StatePair(
            _served(hours=2), [("conv-0001", last("june"))], _served(hours=2, shape="september")
        ),
    ],
    "AX330": [
        StatePair(_g3(minutes=30), [("conv-0001", _prefix(_g3(minutes=30), -1))], _g3(minutes=5)),
        # A turn may take hours, and a server's log says nothing of what came after its end.
        StatePair(_served(hours=-30), [("conv-0001", last("june"))], _served(hours=-5)),
        StatePair(
            _served(hours=-30), [("conv-0001", last("june"))], _served(hours=-30, heard=False)
        ),
    ],
    "AX331": [
        StatePair(_recreated("september"), [(ACTOR, last("september"))], SEPTEMBER),
        StatePair(_recreated("august"), [(ACTOR, LAST)], AUGUST),
    ],
}
