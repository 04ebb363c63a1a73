"""Kinds of faults between snapshots and records: what is current, left behind, compatible."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from axnb.case.case import Case
from axnb.loading import load_state
from axnb.mapping import state_map
from axnb.settings import Settings
from axnb.settings_target import TargetSettings, TemplateSettings
from axnb.substrate.layouts import MANIFEST
from axnb.substrate.states import LEGAL
from axnb.testing.state import ERAS, StateBuilder
from tests.checks.states import State, mapped, severe, state_of
from tests.faults.test_bucket_kinds import ids, installation, of_store, store
from tests.lying_store import LyingStore

__all__ = ["store"]  # a fixture


def _with(built: StateBuilder, number: int = -1, /, **columns: Any) -> StateBuilder:
    """Put other values into the record of an actor."""
    actors = list(built.fleet.actors)
    actors[number] = replace(actors[number], **columns)
    built.fleet = replace(built.fleet, actors=tuple(actors))
    return built


# --- CN-01, CN-03, CN-12: what records point to ---------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        "june",
        *(pytest.param(shape, marks=pytest.mark.slow) for shape in ("july", "late-july")),
        "august",
    ],
)
def test_a_latest_that_was_never_written(shape: str) -> None:
    """The last complete one is named as a candidate, and nothing more."""
    built = installation(shape)
    candidate, lost = built.built[-2:]
    built.remove(lost)
    (finding,) = severe(mapped(state_of(built)))
    assert (finding.id, finding.actor) == ("AX315", "ax/conv-0001")
    assert finding.sentence.startswith("actor ax/conv-0001 (SUSPENDED) starts from a snapshot")
    assert candidate.prefix[-29:] in finding.sentence


@pytest.mark.parametrize(
    ("state", "whole"),
    [
        ("CRASHED", True),
        ("RUNNING", False),
        pytest.param("CRASHED", False, marks=pytest.mark.slow),
        pytest.param("RUNNING", True, marks=pytest.mark.slow),
        pytest.param("SUSPENDED", True, marks=pytest.mark.slow),
        pytest.param("SUSPENDED", False, marks=pytest.mark.slow),
    ],
)
def test_an_upload_that_no_record_will_take_up(state: str, whole: bool) -> None:
    """It is found in the bucket, by its keys: the template, and so its location, is gone."""
    built = installation("august")
    first, begun = built.fleet.actors[-1].snapshots
    worker = built._worker("conv-0001", "ax", "a") if state == "RUNNING" else None
    _with(built, state=state, snapshots=(first,), begun=begun, worker=worker)
    built.fleet = replace(built.fleet, templates=())
    prefix = built.built[-1].prefix
    if not whole:
        del built.bucket.objects[f"{prefix}/{MANIFEST}"]
    found = mapped(state_of(built, kinds=("actors", "snapshots", "tags")))
    assert [f.snapshot for f in severe(found) if f.id == "AX302"] == [prefix]
    # The record itself says so, too; that it is an orphan nobody says.
    assert ids(found) == {"AX302", "AX328"}


#: 9 is a number without a name in most shapes.
_STATES = sorted({*LEGAL["october"], "UNSPECIFIED"})
_QUICK = ("CRASHED", "RUNNING", "SUSPENDED")


@pytest.mark.parametrize(
    "state",
    [
        *(
            state if state in _QUICK else pytest.param(state, marks=pytest.mark.slow)
            for state in _STATES
        ),
        pytest.param("9", marks=pytest.mark.slow),
        "77",
    ],
)
def test_a_missing_snapshot_is_missing_in_every_state(state: str) -> None:
    built = installation("october", 1)
    worker = built._worker("conv-0001", "ax", "a") if state == "RUNNING" else None
    built.remove(built.built[-1])
    found = mapped(state_of(_with(built, state=state, worker=worker)))
    (finding,) = [f for f in severe(found) if f.id == "AX315"]
    assert f"({state})" in finding.sentence
    assert finding.actor == "ax/conv-0001"


@pytest.mark.parametrize(
    "shape",
    [
        shape if shape in ("may", "late-july") else pytest.param(shape, marks=pytest.mark.slow)
        for shape in ERAS
        if shape != "october"
    ],
)
def test_a_missing_snapshot_is_missing_in_every_shape(shape: str) -> None:
    for state in sorted(LEGAL.get(shape, LEGAL["july"]) - {"PAUSED"})[:2]:
        built = installation(shape, 1)
        built.remove(built.built[-1])
        found = mapped(state_of(_with(built, state=state)))
        assert "AX315" in ids(found), state


# --- CN-02, CN-11: what proves content -----------------------------------------------------------


def test_a_change_between_two_loads_is_told(tmp_path: Path) -> None:
    """Substrate keeps no digests: only what axnb read earlier proves a change."""
    built = installation()
    files = built.write(tmp_path)
    with Case(settings=Settings()) as case:
        for number in range(3):
            if number == 2:
                path = files.bucket / built.built[-1].prefix / MANIFEST
                path.write_bytes(path.read_bytes().replace(b"x86_64", b"x86_65"))
            assert load_state(case, [str(files.bucket)], files.records).told == ()
            found = state_map(case)
            assert ("AX307" in ids(found)) == (number == 2)
    (finding,) = [f for f in severe(found) if f.id == "AX307"]
    assert finding.object == f"{built.built[-1].prefix}/{MANIFEST}"
    assert "earlier load" in finding.sentence
    assert any("keeps no digests" in sentence for sentence in found.scope)


def test_a_tag_of_several_parts_is_no_digest(store: LyingStore) -> None:
    """A store's tag of an upload in parts is not the MD5 of its bytes, nor does it accuse it."""
    built = installation()
    store.etags = dict.fromkeys(built.bucket.objects, f"{'ab' * 16}-2")
    assert severe(of_store(store, built)) == []


# --- CN-06, CN-07: whose -------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["june", "july"])
def test_two_templates_at_one_location(shape: str) -> None:
    built = installation(shape)
    (template,) = built.fleet.templates
    other = replace(template, name="other", uid="t-2", golden=None, location=template.location[:-1])
    built.fleet = replace(built.fleet, templates=(template, other))
    assert ids(mapped(state_of(built))) == {"AX339"}


def test_a_prefix_is_of_whole_segments(store: LyingStore) -> None:
    """actor-1 owns nothing of actor-10, whose snapshot is a newer one."""
    built = StateBuilder("june")
    built.template()
    built.actor("actor-1", turns=False)
    built.actor("actor-10", 2, turns=False)
    found = mapped(state_of(built))
    assert severe(found) == []
    rows = {s.key: s.row for s in found.snapshots}
    for key, row in rows.items():
        name = key.split("/")[1]
        assert row["actor_name"] == name
    current = {row["current_of"] for row in rows.values() if row["is_current"]}
    assert {"ax/actor-1", "ax/actor-10"} <= current
    # Who reads a part of the bucket is told of that part alone.
    store.objects |= built.bucket.objects
    place = {"locator": "s3://snapshots/ax-agent/actor-1", "environment": store.environment()}
    found = mapped(state_of(built, **place))
    assert [s.row["current_of"] for s in found.snapshots] == ["ax/actor-1"]
    assert severe(found) == []


@pytest.mark.parametrize(
    "shape", ["june", pytest.param("late-july", marks=pytest.mark.slow), "august"]
)
def test_superseded_is_not_orphaned(shape: str) -> None:
    """Four are superseded, with their size and age; when the actor is gone all are orphans."""
    built = installation(shape, 5)
    found = mapped(state_of(built))
    (finding,) = [f for f in found.findings if f.id == "AX317"]
    size = sum(
        len(data)
        for key, data in built.bucket.objects.items()
        if any(key.startswith(f"{one.prefix}/") for one in built.built[1:5])
    )
    assert f"4 snapshots that no record names, {size} bytes, the oldest of" in finding.sentence
    assert severe(found) == []
    built.actor("conv-0002")
    built.delete("conv-0001")
    # Its ActorSnapshots go on to be there, and do not make an actor of it.
    found = mapped(state_of(built))
    assert [f.id for f in severe(found)] == ["AX318"] * 5
    assert "AX317" not in {f.id for f in found.findings}


@pytest.mark.parametrize("kinds", [(), ("templates",), ("snapshots", "tags"), ("worker-pools",)])
def test_without_a_list_of_actors_nothing_is_an_orphan(kinds: tuple[str, ...]) -> None:
    built = installation()
    built.fleet = replace(built.fleet, actors=built.fleet.actors[:1])
    found = mapped(state_of(built, kinds=kinds))
    assert severe(found) == []
    assert found.verdict == "inconclusive"
    assert any("actors" in doubt or "records" in doubt for doubt in found.doubts)


def test_an_actor_that_one_of_two_exports_has(tmp_path: Path) -> None:
    """It came or went, or a page missed it: no orphan."""
    built = installation()
    built.actor("conv-0002")
    fewer = replace(built.fleet, actors=built.fleet.actors[:-1])
    found = mapped(state_of(built, second_fleet=fewer))
    assert severe(found) == []
    gone = replace(built.fleet, actors=built.fleet.actors[:-1])
    built.fleet = gone
    found = mapped(state_of(built, second_fleet=gone))
    (finding,) = severe(found)
    assert finding.id == "AX318"
    assert finding.sentence == "its actor ax/conv-0002 is not in either export."


# --- CN-08, CN-09, CN-10: would it be restored? ---------------------------------------------------


def _judged(built: StateBuilder, **options: Any) -> tuple[str, set[str]]:
    """What becomes of the last snapshot in a target, and the findings above info."""
    known: dict[str, Any] = {
        "layout": "B3b",
        "built": date(2026, 8, 20),
        "sandbox_classes": frozenset({"gvisor"}),
        "architectures": frozenset({"amd64"}),
        "same_cpu": True,
        "assets": frozenset(sha256 for *_, sha256 in built.assets),
        "templates": {"ax/agent": TemplateSettings(built.template_uid)},
    }
    state = State(built, target=TargetSettings(**known | options), verify=True)
    found = mapped(state)
    last = next(s for s in found.snapshots if s.key == built.built[-1].prefix)
    return last.restorable, ids(found)


def _of(content: str) -> StateBuilder:
    built = StateBuilder("august", "B3b")
    built.template()
    built.actor(content=content)
    return built


@pytest.mark.parametrize(("content", "restored"), [("full", "full"), ("data", "data-only")])
def test_a_runtime_that_was_pinned_need_not_be_the_newest(content: str, restored: str) -> None:
    pinned = frozenset(sha256 for *_, sha256 in _of(content).assets)
    newest = frozenset({"cd" * 32})
    assert _judged(_of(content), assets=pinned | newest) == (restored, set())
    refused = _judged(_of(content), assets=newest)
    assert refused == ("refused", {"AX321", "AX338"})
    # Nobody told: unknown, and no finding.
    assert _judged(_of(content), assets=None) == ("unknown", set())


@pytest.mark.parametrize(
    ("same", "full"), [(None, ("unknown", set())), (False, ("refused", {"AX338"}))]
)
def test_another_cpu_is_not_proven(same: bool | None, full: tuple[str, set[str]]) -> None:
    assert _judged(_of("full"), same_cpu=same) == full
    # Data is bound to no machine; its template's golden snapshot is.
    assert _judged(_of("data"), same_cpu=same)[0] == "data-only"


def test_another_architecture_is_refused() -> None:
    assert _judged(_of("full"), architectures=frozenset({"arm64"})) == ("refused", {"AX338"})
    assert _judged(_of("full"), architectures=None)[0] == "full"


def test_a_key_of_a_newer_build_is_kept_and_told() -> None:
    built = installation()
    manifest = built.built[-1].manifest
    assert manifest is not None
    manifest["guestProtocol"] = "2"
    built.bucket.put_manifest(built.built[-1])
    found = mapped(state_of(built))
    (finding,) = [f for f in found.findings if f.id == "AX341"]
    assert finding.sentence == "its manifest has a key that axnb has no meaning for: guestProtocol."
    assert severe(found) == []
