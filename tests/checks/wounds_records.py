"""Wounds between a bucket and records: what these point to, their templates, a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

from axnb.settings_target import TargetSettings, TemplateSettings
from axnb.testing.buckets import WOUNDS
from axnb.testing.fleet import Actor
from axnb.testing.state import StateBuilder
from tests.checks.states import Make, State, StatePair, alone, last, state_of
from tests.checks.wounds_objects import AUGUST, JUNE, LAST, LATE_JULY, SEPTEMBER, deleted, healthy

ACTOR = "ax/conv-0001"

Change = Callable[[StateBuilder], Any]


def after(
    change: Change,
    shape: str = "august",
    generation: str = "",
    sandbox_class: str = "gvisor",
    **options: Any,
) -> Make:
    """`alone`, with something done to it."""

    def make() -> State:
        built = alone(shape, generation, sandbox_class)
        change(built)
        return state_of(built, **options)

    return make


def on_actor(number: int = -1, /, **columns: Any) -> Change:
    """Put other values into the record of an actor."""

    def change(built: StateBuilder) -> None:
        actors = list(built.fleet.actors)
        actors[number] = replace(actors[number], **columns)
        built.fleet = replace(built.fleet, actors=tuple(actors))

    return change


def on_template(**columns: Any) -> Change:
    """Put other values into the record of the template."""

    def change(built: StateBuilder) -> None:
        (template,) = built.fleet.templates
        built.fleet = replace(built.fleet, templates=(replace(template, **columns),))

    return change


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(built: StateBuilder) -> None:
        for one in changes:
            one(built)

    return change


def _lost(number: int = -1) -> Change:
    """All objects of a snapshot are gone."""
    return lambda built: built.remove(built.built[number])


def _begun(state: str, *, complete: bool) -> Make:
    """A snapshot that the record calls in progress, of an actor in a state."""

    def make() -> State:
        built = StateBuilder("august")
        built.template()
        actor = built.actor("conv-0001", 2)
        actor = replace(actor, state=state, snapshots=actor.snapshots[:1], begun=actor.snapshots[1])
        built.fleet = replace(built.fleet, actors=(*built.fleet.actors[:-1], actor))
        if not complete:
            WOUNDS["manifest-missing"](built.bucket, built.built[-1])
        return state_of(built)

    return make


def _several(shape: str, generation: str = "", *, current: int = -1, number: int = 3) -> Make:
    """An actor of several snapshots, whose record starts from one of them."""

    def make() -> State:
        built = StateBuilder(shape, generation)
        built.template()
        actor = built.actor("conv-0001", number)
        latest = actor.snapshots[current]
        kept = actor.snapshots if current == -1 else (*actor.snapshots[:current], latest)
        # What was uploaded and never promoted has a record of no kind.
        if current != -1:
            kept = (latest,)
        built.fleet = replace(
            built.fleet, actors=(*built.fleet.actors[:-1], replace(actor, snapshots=kept))
        )
        return state_of(built)

    return make


def prefix_of(make: Make, number: int) -> str:
    """The prefix of a snapshot that is still there, after its location."""
    return make().built.built[number].prefix.removeprefix("ax-agent/")


def _second_template(shape: str, location: str, generation: str = "") -> Make:
    def change(built: StateBuilder) -> None:
        (first,) = built.fleet.templates
        second = replace(first, name="other", uid="t-2", location=location, golden=None)
        built.fleet = replace(built.fleet, templates=(first, second))

    return after(change, shape, generation)


def _repin(built: StateBuilder) -> None:
    WOUNDS["asset-unknown"](built.bucket, built.built[-1])


def _other_release(built: StateBuilder) -> None:
    """Another address, as after an upgrade."""
    snapshot = built.built[-1]
    assert snapshot.manifest is not None
    for asset in snapshot.manifest["assets"].values():
        asset |= {"url": "gs://assets.example.test/20270101/runsc", "sha256": "cd" * 32}
    built.bucket.put_manifest(snapshot)


def _target(**options: Any) -> TargetSettings:
    uid = StateBuilder().template_uid
    known: dict[str, Any] = {
        "layout": "B3b",
        "built": date(2026, 8, 20),
        "sandbox_classes": frozenset({"gvisor"}),
        "architectures": frozenset({"amd64"}),
        "same_cpu": True,
        "assets": frozenset(sha256 for *_, sha256 in alone().assets),
        "templates": {"ax/agent": TemplateSettings(uid)},
    }
    return TargetSettings(**known | options)


def _stuck(minutes: int) -> Change:
    def change(built: StateBuilder) -> None:
        at = built._text(built.now)
        on_actor(state="SUSPENDING", updated=at)(built)
        built._pass(minutes)

    return change


def _with_worker(built: StateBuilder) -> None:
    actor: Actor = built.fleet.actors[-1]
    on_actor(state="RUNNING", worker=built._worker(actor.name, actor.atespace, actor.uid))(built)


def _no_worker(built: StateBuilder) -> None:
    on_actor(state="RUNNING")(built)


_URI = "gs://snapshots/ax-agent/snapshots/ax/00000000-0000-4000-8000-000000000009"
_ELSEWHERE = _URI.replace("//snapshots/", "//other/")


def _points_to(uri: str, **columns: Any) -> Change:
    """The record of the actor, and that of its snapshot, name a URI."""

    def change(built: StateBuilder) -> None:
        actor = built.fleet.actors[-1]
        on_actor(snapshots=(replace(actor.snapshots[-1], uri=uri, **columns),))(built)

    return change


def _refused() -> State:
    """Three snapshots of an actor, and a build that reads none of them."""
    made = _several("august")()
    return replace(made, target=_target(layout="B4", built=date(2026, 9, 20)))


#: What is not there, as a record names it.
_NOT_THERE = "snapshots/ax/00000000-0000-4000-8000-000000000009"

PAIRS: dict[str, list[StatePair]] = {
    "AX302": [
        StatePair(
            _begun("CRASHED", complete=False),
            [(ACTOR, f"{prefix_of(_begun('CRASHED', complete=True), -1)}/manifest.json")],
            _begun("SUSPENDING", complete=False),
        ),
        StatePair(
            _begun("CRASHED", complete=True),
            [(ACTOR, f"{prefix_of(_begun('CRASHED', complete=True), -1)}/manifest.json")],
            _begun("SUSPENDING", complete=True),
        ),
    ],
    "AX315": [
        StatePair(after(_lost()), [(ACTOR, LAST)], AUGUST),
        StatePair(after(_lost(), "june", "B1b"), [(ACTOR, last("june", "B1b"))], JUNE),
        StatePair(after(_lost(), "october"), [(ACTOR, last("october"))], healthy("october")),
        # Of another bucket nothing is said, and what can be brought back is AX304.
        StatePair(after(_points_to(_URI)), [(ACTOR, _NOT_THERE)], after(_points_to(_ELSEWHERE))),
        StatePair(
            after(_points_to("gs:///no-bucket")),
            [(ACTOR, None)],
            after(_lost(), after=(deleted("manifest.json"),)),
        ),
        # By name alone, as the records of late July.
        StatePair(after(_lost(), "late-july"), [(ACTOR, None)], LATE_JULY),
    ],
    "AX316": [
        StatePair(
            _several("late-july", current=1),
            [(ACTOR, prefix_of(_several("late-july", current=1), -1))],
            _several("late-july"),
        ),
        StatePair(
            _several("june", current=1),
            [(ACTOR, prefix_of(_several("june", current=1), -1))],
            _several("june"),
        ),
    ],
    "AX317": [
        StatePair(
            _several("august", number=5),
            [(ACTOR, prefix_of(_several("august", number=5), 1))],
            _several("september", number=5),
        ),
        StatePair(_several("june", "B1b"), [(ACTOR, prefix_of(_several("june", "B1b"), 1))], JUNE),
    ],
    "AX321": [
        StatePair(
            healthy(verify=True, target=_target(assets=frozenset())),
            sorted(
                (None, f"{one.prefix.removeprefix('ax-agent/')}/manifest.json")
                for one in alone().built
            ),
            healthy(verify=True, target=_target()),
        )
    ],
    "AX322": [StatePair(after(_other_release), [(None, LAST)], AUGUST)],
    "AX324": [
        StatePair(after(_lost(0)), [(None, prefix_of(AUGUST, 0))], AUGUST),
        StatePair(
            after(_lost(0), "june", "B1b"), [(None, prefix_of(healthy("june", "B1b"), 0))], JUNE
        ),
        # Since September a tag holds it.
        StatePair(after(_lost(0), "september"), [(None, prefix_of(SEPTEMBER, 0))], SEPTEMBER),
        # Its template need not name it.
        StatePair(
            after(both(_lost(0), on_template(golden=None)), "september"),
            [(None, prefix_of(SEPTEMBER, 0))],
            after(on_template(golden=None), "september"),
        ),
    ],
    "AX325": [
        StatePair(
            after(lambda b: WOUNDS["scope-data-with-memory"](b.bucket, b.built[0])),
            [(None, f"{prefix_of(AUGUST, 0)}/manifest.json")],
            AUGUST,
        )
    ],
    "AX326": [
        StatePair(
            after(on_template(sandbox_class="microvm")),
            [(None, f"{prefix_of(AUGUST, 0)}/manifest.json")],
            AUGUST,
        ),
        StatePair(
            after(on_template(sandbox_class="microvm"), "october"),
            [(None, f"{prefix_of(healthy('october'), 0)}/manifest.json")],
            healthy("october"),
        ),
    ],
    "AX327": [StatePair(after(_stuck(30)), [(ACTOR, None)], after(_stuck(3)))],
    "AX328": [
        StatePair(after(_no_worker), [(ACTOR, None)], after(_with_worker)),
        StatePair(after(on_actor(state="CRASHED")), [(ACTOR, None)], AUGUST),
        StatePair(after(on_actor(state="9"), "october"), [(ACTOR, None)], healthy("october")),
    ],
    "AX338": [
        StatePair(
            after(
                on_template(), target=_target(sandbox_classes=frozenset({"microvm"})), verify=True
            ),
            sorted(
                (None, f"{one.prefix.removeprefix('ax-agent/')}/manifest.json")
                for one in alone().built
            ),
            healthy(verify=True, target=_target()),
        ),
        # Who is superseded is not asked for.
        StatePair(
            _refused,
            [
                (None, f"{prefix_of(_refused, number)}/manifest.json")
                for number in (0, len(_refused().built.built) - 1)
            ],
            AUGUST,
        ),
    ],
    "AX339": [
        StatePair(
            _second_template("june", "gs://snapshots/ax-agent", "B1b"),
            [(None, None)],
            _second_template("june", "gs://snapshots/other/", "B1b"),
        ),
        StatePair(
            _second_template("june", "gs://snapshots/ax-agent/", "B1a"),
            [(None, None)],
            _second_template("october", "gs://snapshots/ax-agent/"),
        ),
    ],
    "AX343": [
        StatePair(after(_repin), [(None, f"{LAST}/manifest.json")], after(_other_release)),
    ],
}
