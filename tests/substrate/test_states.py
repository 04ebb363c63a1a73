"""Suspicious states: each remark has an actor that earns it, and healthy actors earn none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from axnb.substrate.records import ActorRecord, read_export
from axnb.substrate.states import Sighting, remarks
from axnb.testing.fleet import Actor, Fleet, Paused, Snapshot, Worker
from axnb.testing.records import SHAPES, export
from tests.substrate import fleets

NOW = datetime(2026, 8, 10, 9, 6, tzinfo=UTC)
LATER = NOW + timedelta(hours=2)
KEPT = Snapshot("s-1", "gs://b/agent/s-1", template_uid="t-1")
BEGUN = Snapshot("s-2", "gs://b/agent/s-2", generation=2, template_uid="t-1")
POD = Worker("pod-1", uid="w-1")


def read(actor: Actor, shape: str) -> ActorRecord:
    (found,) = read_export(export(Fleet(actors=[actor]), "actors", shape).encode()).of(ActorRecord)
    return found


def classes(actor: Actor, shape: str, at: datetime | None = NOW) -> list[str]:
    return [kind for kind, _ in remarks(read(actor, shape), at)]


@pytest.mark.parametrize("shape", SHAPES)
def test_healthy_actors_earn_no_remark(shape: str) -> None:
    fleet = fleets.healthy()
    for actor in fleet.actors:
        if shape == "may" and actor.state == "PAUSED":
            continue
        assert classes(actor, shape, LATER) == []
    for state in ("RESUMING", "SUSPENDING"):
        assert classes(Actor("c", state=state, worker=POD, begun=BEGUN), shape) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_running_without_a_worker(shape: str) -> None:
    assert classes(Actor("c", state="RUNNING"), shape) == ["running-without-worker"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_worker_while_suspended(shape: str) -> None:
    assert classes(Actor("c", worker=POD), shape) == ["worker-while-stopped"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_snapshot_in_progress_of_an_actor_at_rest(shape: str) -> None:
    assert classes(Actor("c", begun=BEGUN), shape) == ["in-progress-while-stable"]


@pytest.mark.parametrize("shape", SHAPES[2:])
def test_a_transition_that_takes_too_long(shape: str) -> None:
    actor = Actor("c", state="SUSPENDING", worker=POD)
    assert classes(actor, shape, NOW) == []
    assert classes(actor, shape, None) == []
    assert classes(actor, shape, LATER) == ["stuck-transition"]
    (remark,) = remarks(read(actor, shape), LATER)
    assert remark[1] == "Actor ax/c has been SUSPENDING for at least 121 minutes."


@pytest.mark.parametrize("shape", ["may", "june"])
def test_without_times_two_exports_tell_an_age(shape: str) -> None:
    actor = read(Actor("c", state="RESUMING", worker=POD), shape)
    moved = read(Actor("c", state="RESUMING", worker=POD, version=2), shape)
    assert remarks(actor, LATER) == []
    found = remarks(actor, LATER, Sighting(actor, NOW))
    assert [kind for kind, _ in found] == ["stuck-transition"]
    assert remarks(moved, LATER, Sighting(actor, NOW)) == []
    assert remarks(actor, NOW + timedelta(minutes=1), Sighting(actor, NOW)) == []


@pytest.mark.parametrize("shape", SHAPES[2:])
def test_crashed_actors(shape: str) -> None:
    crashed = Actor("c", state="CRASHED", template_uid="t-1", snapshots=[KEPT])
    assert classes(crashed, shape) == ["crashed-with-snapshot"]
    told = remarks(read(crashed, shape))[0][1]
    assert ("only delete" in told) == (shape in ("july", "late-july", "august"))
    assert classes(Actor("c", state="CRASHED"), shape) == ["crashed-without-snapshot"]
    torn = Actor("c", state="CRASHED", begun=BEGUN)
    assert classes(torn, shape) == ["in-progress-of-crashed", "crashed-without-snapshot"]


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_a_pause_snapshot_without_a_node(shape: str) -> None:
    """An actor that was paused on a node without a name cannot be placed again (#397)."""
    assert classes(Actor("c", state="PAUSED"), shape) == ["paused-nowhere"]
    unplaced = Actor("c", state="PAUSED", paused=Paused("p", node=""))
    assert classes(unplaced, shape) == ["paused-nowhere"]


@pytest.mark.parametrize("shape", ["september", "october"])
def test_a_snapshot_of_another_template(shape: str) -> None:
    actor = Actor("c", template_uid="t-2", snapshots=[KEPT])
    assert classes(actor, shape) == ["other-template"]


def test_generations_are_given_once() -> None:
    twice = Actor("c", template_uid="t-1", snapshots=[KEPT, KEPT])
    assert classes(twice, "october") == ["generation-out-of-order"]


@pytest.mark.parametrize(
    ("state", "shape", "kind"),
    [
        ("CRASHED", "june", "illegal-state"),
        ("PAUSED", "may", "illegal-state"),
        ("REVERTING", "july", "illegal-state"),
        ("DELETING", "june", "illegal-state"),
        ("ASLEEP", "october", "unknown-state"),
    ],
)
def test_states_that_a_shape_does_not_have(state: str, shape: str, kind: str) -> None:
    snapshots = [KEPT] if shape == "may" else []
    assert kind in classes(Actor("c", state=state, snapshots=snapshots), shape)


def test_names_in_sentences_are_safe() -> None:
    actor = Actor("\x1b[31m" + "n" * 500, state="RUNNING")
    ((_, sentence),) = remarks(read(actor, "october"))
    assert sentence.isprintable()
    assert len(sentence) < 200
