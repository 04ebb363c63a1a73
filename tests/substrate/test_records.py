"""Exports of every shape are read to the same records, whatever their spelling."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.substrate.records import (
    ActorRecord,
    AtespaceRecord,
    EnvVar,
    Export,
    Place,
    Ref,
    SandboxConfigRecord,
    SnapshotRecord,
    Stored,
    TagRecord,
    TemplateRecord,
    TemplateRef,
    WorkerPoolRecord,
    WorkerRecord,
    join,
    read_export,
)
from axnb.substrate.states import LEGAL
from axnb.testing.fleet import Fleet
from axnb.testing.records import SHAPES, export, lines
from tests.substrate import expected, fleets


def read(text: str, asked: str = "") -> Export:
    found = read_export(text.encode(), asked)
    assert found.rejects == ()
    return found


def states(shape: str) -> tuple[str, ...]:
    return tuple(sorted(LEGAL[expected.shape_of(shape)]))


def spellings(fleet: Fleet, kind: str, shape: str) -> list[str]:
    return [
        export(fleet, kind, shape),
        lines(fleet, kind, shape),
        lines(fleet, kind, shape, snake=True, plain=True),
    ]


def records(found: Export) -> list[Any]:
    return list(found.records)


@pytest.mark.parametrize("shape", SHAPES)
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_actors_of_every_shape(shape: str, data: st.DataObject) -> None:
    actors = data.draw(
        st.lists(fleets.actors(states(shape)), max_size=3, unique_by=lambda a: a.name)
    )
    want = [expected.actor(a, shape) for a in actors]
    for text in spellings(Fleet(actors=actors), "actors", shape):
        found = read(text)
        assert records(found) == want
        assert found.unknown == {}
        assert all(expected.shape_of(shape) in r.shape.split("|") for r in found.records)


@pytest.mark.parametrize("shape", ["late-july", "august"])
@settings(deadline=None)
@given(data=st.data())
def test_snapshots(shape: str, data: st.DataObject) -> None:
    actor = data.draw(fleets.actors(("SUSPENDED",)))
    unique = {s.uid: s for s in actor.snapshots}
    actor = replace(actor, snapshots=tuple(unique.values()))
    want = [expected.snapshot(actor, s, shape) for s in actor.snapshots]
    for text in spellings(Fleet(actors=[actor]), "snapshots", shape):
        found = read(text)
        assert records(found) == want
        assert found.unknown == {}


@pytest.mark.parametrize("shape", SHAPES)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_templates_of_every_shape(shape: str, data: st.DataObject) -> None:
    template = data.draw(fleets.templates)
    found = read(export(Fleet(templates=[template]), "templates", shape))
    assert records(found) == [expected.template(template, shape)]
    assert found.unknown == {}
    own = shape in ("august", "september", "october")
    if own:
        snake = read(lines(Fleet(templates=[template]), "templates", shape, snake=True))
        assert records(snake) == [expected.template(template, shape)]


@pytest.mark.parametrize("shape", SHAPES)
def test_no_value_of_a_variable_is_kept(shape: str) -> None:
    found = read(export(fleets.healthy(), "templates", shape))
    assert "not-a-real-key-0001" not in repr(found)
    (variable,) = found.of(TemplateRecord)[0].containers[0].env
    assert variable.name == "DEMO_API_KEY"
    assert variable.length == 19


@pytest.mark.parametrize("shape", SHAPES)
def test_workers_of_every_shape(shape: str) -> None:
    early, may = shape in ("may", "june"), shape == "may"
    late = shape in ("august", "september", "october")
    found = read(export(fleets.healthy(), "workers", shape)).of(WorkerRecord)
    assert [w.pod for w in found] == ["pod-1", "pod-2"]
    assert [w.pod_uid for w in found] == ["w-1", "w-2"]
    assert [w.name for w in found] == (["worker-1", "worker-2"] if late else ["", ""])
    assert {w.state for w in found} == ({""} if early else {"ACTIVE"})
    assert {w.node for w in found} == ({""} if early else {"node-1"})
    (assigned,) = found[0].assignments
    assert assigned.actor == Ref("" if may else "ax", "conv-2")
    assert assigned.actor_uid == ("a-2" if late else "")
    assert found[1].assignments == ()


@pytest.mark.parametrize("shape", ["late-july", "august", "september", "october"])
def test_tags(shape: str) -> None:
    (tag,) = read(export(fleets.healthy(), "tags", shape)).of(TagRecord)
    assert (tag.atespace, tag.name, tag.uid, tag.scope) == ("ax", "good", "tag-1", "atespace")
    held = {
        "september": Stored("gs://b/agent/snapshots/ax/s-2", content="data", template_uid="t-1"),
        "october": Stored(
            "gs://b/agent/snapshots/ax/s-2", "", "s-2", "data", "t-1", 2, "tag", "completed"
        ),
    }
    assert tag.snapshot == held.get(shape, Stored(atespace="ax", name="s-2"))


@pytest.mark.parametrize("shape", SHAPES)
def test_what_runs_actors(shape: str) -> None:
    fleet = fleets.healthy()
    (atespace,) = read(export(fleet, "atespaces", shape)).of(AtespaceRecord)
    assert atespace.name == "ax"
    (config,) = read(export(fleet, "sandbox-configs", shape)).of(SandboxConfigRecord)
    assert [(a.arch, a.sha256) for a in config.assets] == [
        ("amd64", "11" * 32),
        ("arm64", "22" * 32),
    ]
    assert (config.pause_image, config.default) == (fleets.PAUSE, True)
    (pool,) = read(export(fleet, "worker-pools", shape)).of(WorkerPoolRecord)
    assert (pool.replicas, pool.image, pool.sandbox_classes) == (2, fleets.IMAGE, ("gvisor",))
    assert pool.labels == (("tier", "agents"),)


# --- one record a month, spelled out ------------------------------------------------------------

JUNE = """{"actors":[{"actorId":"6f1c…","version":"7","actorTemplateNamespace":"ax",
"actorTemplateName":"ax-harness-antigravity-template","status":"STATUS_SUSPENDED",
"latestSnapshotInfo":{"type":"SNAPSHOT_TYPE_EXTERNAL","external":{"snapshotUriPrefix":
"gs://b/axantigravity/6f1c…/2026-06-28T10:00:00Z-N7GBFQ2XKJ4ZLWMR6TYHPVCD3A"}},"atespace":"ax"}]}"""
AUGUST = """{"actors":[{"metadata":{"atespace":"ax","name":"6f1c…","uid":"3a5b…","version":"12",
"createTime":"2026-08-10T09:00:00Z","updateTime":"2026-08-10T09:05:00Z"},
"actorTemplateNamespace":"ax","actorTemplateName":"ax-harness-interactions-template",
"status":{"state":"ACTOR_STATE_SUSPENDED","latestSnapshot":{"atespace":"ax",
"name":"f47ac10b-58cc-4372-a567-0e02b2c3d479"}}}]}"""
SNAPSHOTS = """{"snapshots":[{"metadata":{"atespace":"ax","name":
"f47ac10b-58cc-4372-a567-0e02b2c3d479","uid":"…","version":"1"},"status":{"sourceActor":
{"atespace":"ax","name":"6f1c…"},"sourceActorUid":"3a5b…","sourceActorVersion":"11",
"actorTemplateNamespace":"ax","actorTemplateName":"ax-harness-interactions-template",
"actorTemplateUid":"9d2e…","contentScope":"SNAPSHOT_CONTENT_SCOPE_DATA","snapshotUri":
"gs://b/axinteractions/snapshots/ax/f47ac10b-58cc-4372-a567-0e02b2c3d479"}}]}"""
OCTOBER = """{"metadata":{"atespace":"ax","name":"6f1c…","uid":"3a5b…","version":"40"},"status":
{"state":"ACTOR_STATE_SUSPENDED","lastAssignedGeneration":9,"snapshots":[{"uuid":"f47a…",
"generation":9,"owner":"SNAPSHOT_OWNER_ACTOR","fidelity":"SNAPSHOT_FIDELITY_MEMORY",
"actorTemplateUid":"9d2e…","durableSnapshot":{"status":"SNAPSHOT_STORAGE_STATUS_COMPLETED",
"object":{"snapshotUri":
"gs://b/axinteractions/atespaces/ax/actors/3a5b…/snapshots/f47a…"}}}]}}"""


def test_the_fixture_of_june() -> None:
    (actor,) = read(JUNE).of(ActorRecord)
    assert actor.shape == "june"
    uri = "gs://b/axantigravity/6f1c…/2026-06-28T10:00:00Z-N7GBFQ2XKJ4ZLWMR6TYHPVCD3A"
    assert actor == ActorRecord(
        Place(0),
        "june",
        (),
        name="6f1c…",
        version=7,
        atespace="ax",
        state="SUSPENDED",
        template=TemplateRef("ax", "", "ax-harness-antigravity-template"),
        latest=Stored(uri=uri),
    )


def test_the_fixtures_of_august() -> None:
    found = read(AUGUST + SNAPSHOTS)
    assert [d.kinds for d in found.documents] == [("actor",), ("snapshot",)]
    (actor,), (snapshot,) = found.of(ActorRecord), found.of(SnapshotRecord)
    assert actor.shape == snapshot.shape == "august"
    assert actor.latest == Stored(atespace=snapshot.atespace, name=snapshot.name)
    assert snapshot.source_actor_uid == actor.uid
    assert snapshot.source_actor_version == 11
    assert snapshot.content == "data"
    assert snapshot.template.uid == "9d2e…"
    assert snapshot.uri.endswith(f"/snapshots/ax/{snapshot.name}")


def test_the_fixture_of_october() -> None:
    (actor,) = read(OCTOBER).of(ActorRecord)
    assert (actor.shape, actor.last_generation) == ("october", 9)
    assert actor.latest is not None
    assert (actor.latest.generation, actor.latest.content) == (9, "full")
    assert actor.snapshots == (actor.latest,)


# --- what is current, and what a shape is --------------------------------------------------------


def generation(number: int, status: str) -> dict[str, Any]:
    durable = {"status": status, "object": {"snapshotUri": f"gs://b/{number}"}}
    return {"uuid": f"u{number}", "generation": number, "durableSnapshot": durable}


def one(status: dict[str, Any], **top: Any) -> ActorRecord:
    metadata = {"atespace": "ax", "name": "c", "uid": "u"}
    text = json.dumps({"metadata": metadata, "status": status, **top})
    (actor,) = read(text).of(ActorRecord)
    return actor


def test_the_highest_completed_generation_is_current() -> None:
    pending, done = "SNAPSHOT_STORAGE_STATUS_PENDING", "SNAPSHOT_STORAGE_STATUS_COMPLETED"
    listed = [generation(2, done), generation(1, done), generation(3, pending)]
    actor = one({"state": "ACTOR_STATE_SUSPENDING", "snapshots": listed})
    assert actor.latest is not None
    assert actor.latest.uri == "gs://b/2"
    assert actor.in_progress is not None
    assert actor.in_progress.uri == "gs://b/3"


def test_the_form_of_late_september() -> None:
    storage = [
        {
            "durability": "SNAPSHOT_DURABILITY_DURABLE",
            "status": "SNAPSHOT_STORAGE_STATUS_COMPLETED",
            "fidelity": "SNAPSHOT_FIDELITY_VOLUMES",
            "object": {"snapshotUri": "gs://b/1"},
        },
        {"durability": "SNAPSHOT_DURABILITY_LOCAL", "local": {"nodeName": "n1"}},
    ]
    actor = one({"state": 6, "snapshots": [{"uuid": "u1", "generation": 1, "storage": storage}]})
    want = Stored(
        "gs://b/1", name="u1", content="data", generation=1, status="completed", nodes=("n1",)
    )
    assert (actor.state, actor.latest, actor.local) == ("PAUSED", want, want)


@pytest.mark.parametrize(
    ("status", "top", "shape"),
    [
        ({"state": "ACTOR_STATE_RUNNING"}, {}, "august|september|october"),
        ({"state": 2}, {"actorTemplateName": "t", "actorTemplateNamespace": "ax"}, "august"),
        ({"state": "ACTOR_STATE_REVERTING"}, {}, "september|october"),
        ({"state": 9}, {}, "september|october"),
        ({"state": 4, "assignedNode": "n"}, {}, "september|october"),
        ({"state": 4, "externalSnapshot": {"snapshotUri": "gs://b/1"}}, {}, "september"),
        ({"state": 4, "latestSnapshot": {"name": "s"}}, {}, "august"),
        ({"state": 4, "latestSnapshot": {"name": "s"}, "snapshots": []}, {}, "mixed"),
    ],
)
def test_a_shape_is_what_the_fields_tell(
    status: dict[str, Any], top: dict[str, Any], shape: str
) -> None:
    assert one(status, **top).shape == shape


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (7, "CRASHED"),
        ("ACTOR_STATE_CRASHED", "CRASHED"),
        ("STATUS_CRASHED", "CRASHED"),
        (12, "STATE_12"),
        ("ACTOR_STATE_ASLEEP", "ASLEEP"),
        (None, "UNSPECIFIED"),
    ],
)
def test_states_by_name_and_by_number(value: Any, state: str) -> None:
    assert one({"state": value, "workerAssignment": {}}).state == state


@pytest.mark.parametrize(("scope", "word"), [(1, ""), (2, "published"), (None, "")])
def test_a_tags_scope_by_number_is_not_guessed(scope: int | None, word: str) -> None:
    tag = {"metadata": {"atespace": "ax", "name": "t"}, "snapshot": {"name": "s"}, "scope": scope}
    assert read(json.dumps({"tags": [tag]})).of(TagRecord)[0].scope == word


def test_a_secret_of_kubernetes_is_no_value() -> None:
    template = json.loads(export(fleets.healthy(), "templates", "june"))
    reference = {"secretKeyRef": {"name": "s", "key": "k"}}
    template["items"][0]["spec"]["containers"][0]["env"] = [{"name": "K", "valueFrom": reference}]
    (found,) = read(json.dumps(template)).of(TemplateRecord)
    assert found.containers[0].env == (EnvVar("K", from_secret=True),)


def test_annotations_are_not_kept() -> None:
    """kubectl's own annotation holds the object again, with the values of variables."""
    template = json.loads(export(fleets.healthy(), "templates", "june"))
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"value":"hunter2"}'}
    template["items"][0]["metadata"]["annotations"] = applied
    found = read(json.dumps(template))
    assert "hunter2" not in repr(found)
    assert found.unknown == {}


def test_addresses_are_kept_without_what_signs_them() -> None:
    signed = "https://user:pw@assets.example.test/gvisor?X-Amz-Signature=abc#f"
    config = json.loads(export(fleets.healthy(), "sandbox-configs", "june"))
    config["items"][0]["spec"]["assets"]["amd64"]["gvisor"]["url"] = signed
    (found,) = read(json.dumps(config)).of(SandboxConfigRecord)
    assert found.assets[0].url == "https://assets.example.test/gvisor"


# --- documents -----------------------------------------------------------------------------------


def test_exports_behind_each_other_and_joined() -> None:
    fleet = fleets.healthy()
    kinds = ("actors", "workers", "snapshots", "tags", "atespaces", "templates")
    texts = [export(fleet, kind, "august") for kind in (*kinds, "sandbox-configs", "worker-pools")]
    found = read("".join(texts))
    joined = join([read(text) for text in texts])
    assert joined == found
    assert found.complete
    assert all(found.covers(kind) for kind in ("actor", "tag", "template", "worker-pool"))
    places = [(r.place.document, r.place.index) for r in found.records]
    assert len(set(places)) == len(places)
    assert [r.place for r in joined.records] == [r.place for r in found.records]


def test_an_array_of_records() -> None:
    actors = json.loads(export(fleets.healthy(), "actors", "august"))["actors"]
    found = read(json.dumps(actors))
    assert len(found.of(ActorRecord)) == 4
    assert found.documents[0].form == "array"


def test_an_empty_list_does_not_tell_its_kind() -> None:
    assert read("{}\n").documents[0].form == "empty"
    assert not read("{}\n").covers("actor")
    assert read("{}\n", asked="actor").covers("actor")
    assert read('{"actors":[]}').covers("actor")
    none = '{"apiVersion":"v1","items":[],"kind":"List","metadata":{"resourceVersion":""}}'
    assert not read(none).covers("template")
    assert read(none, asked="template").covers("template")


@pytest.mark.parametrize(
    "page",
    [
        '{"actors":[],"nextPageToken":"x"}',
        '{"actors":[],"next_page_token":"x"}',
        '{"apiVersion":"v1","kind":"List","metadata":{"continue":"x"},"items":[]}',
    ],
)
def test_a_page_is_not_the_whole(page: str) -> None:
    found = read(page, asked="actor")
    assert found.documents[0].more
    assert not found.complete
    assert not found.covers("actor")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_shells_write(encoding: str) -> None:
    assert len(read_export(JUNE.encode(encoding)).records) == 1


# --- duplicates and unknown fields ---------------------------------------------------------------


def repeated(*changes: dict[str, Any]) -> Export:
    actors = []
    for change in changes:
        metadata = {"atespace": "ax", "name": "c", "uid": "u", "version": "4"} | change
        actors.append({"metadata": metadata, "status": {"state": "ACTOR_STATE_SUSPENDED"}})
    return read(json.dumps({"actors": actors}))


def test_a_record_twice_is_one_record() -> None:
    found = repeated({}, {})
    assert len(found.records) == 1
    assert [(d.what, d.first.index, d.second.index) for d in found.duplicates] == [("equal", 0, 1)]


@pytest.mark.parametrize("versions", [("4", "5"), ("5", "4")])
def test_of_two_that_differ_the_newer_one_is_kept(versions: tuple[str, str]) -> None:
    found = repeated(*({"version": version} for version in versions))
    assert [r.version for r in found.records] == [5]
    assert [d.what for d in found.duplicates] == ["different"]


def test_two_actors_of_one_name_are_two() -> None:
    found = repeated({}, {"uid": "v"})
    assert len(found.records) == 2
    assert [d.what for d in found.duplicates] == ["namesake"]


def test_unknown_fields_are_kept_by_path() -> None:
    status = {"state": 4, "layers": ["secret"], "snapshots": [{"uuid": "a", "stamp": {"x": 1}}]}
    metadata = {"atespace": "ax", "name": "c", "uid": "u"}
    actors = [{"metadata": metadata | {"uid": uid}, "status": status} for uid in ("u", "v")]
    found = read(json.dumps({"actors": actors, "odd-one": 1}))
    paths = {"$.status.layers": 2, "$.status.snapshots[].stamp": 2, "$.?": 1}
    assert found.unknown == paths
    assert found.records[0].unknown == ("$.status.layers", "$.status.snapshots[].stamp")
    assert "secret" not in repr(found)
