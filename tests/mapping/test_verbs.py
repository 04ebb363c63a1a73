"""The verbs that read buckets and records: what they answer, and that they change nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from axnb.testing.buckets import WOUNDS, BucketBuilder, Built
from axnb.testing.fleet import Actor, Container, Fleet, Snapshot, Template
from axnb.testing.logs import LogBuilder, say
from axnb.testing.records import export
from tests.s3_server import S3Server

_DIGEST = "f18a948bf9c8bbb54eb998549a3a8d719a1c7de2efbe8fdd2ff0ee5fecd06f19"
_IMAGE = f"registry.example.test/agent@sha256:{'ab' * 32}"
_TARGET = f"""
[target]
layout = "B3b"
built = 2026-08-21
sandbox_classes = ["gvisor"]
architectures = ["amd64"]
cpu_features = "same"
assets = ["{_DIGEST}"]
templates = {{ "ax/agent" = "t-1" }}
"""

Run = Callable[..., Result]


class World:
    """A log of one conversation, the bucket with its snapshot, and the records about it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bucket = BucketBuilder("ax-agent")
        self.snapshot: Built = self.bucket.snapshot("B3b", actor_name="conv-0001", actor_uid="a-1")
        self.log = LogBuilder("G6")
        self.log.turn("conv-0001", "hi", say("done"))

    @property
    def fleet(self) -> Fleet:
        name = self.snapshot.prefix.rpartition("/")[2]
        stored = Snapshot(name, f"gs://snapshots/{self.snapshot.prefix}", "full", 1, "t-1", "s-1")
        return Fleet(
            actors=(Actor("conv-0001", uid="a-1", template_uid="t-1", snapshots=(stored,)),),
            templates=(Template("agent", uid="t-1", containers=(Container("app", _IMAGE),)),),
        )

    def write(self, *kinds: str) -> list[str]:
        """Write it all; the arguments that name the bucket and exports of these kinds."""
        self.bucket.write(self.folder / "bucket")
        self.log.write_sqlite(self.folder / "log.sqlite")
        (self.folder / "axnb.toml").write_text(_TARGET, encoding="utf-8")
        words = ["--snapshots", f"file://{self.folder / 'bucket'}"]
        for kind in kinds:
            path = self.folder / f"{kind}.json"
            path.write_text(export(self.fleet, kind, "august"), encoding="utf-8")
            words += ["--records", str(path)]
        return words


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


_ALL = ("actors", "snapshots", "templates", "tags")


def _map(axnb: Run, *words: str) -> tuple[int, dict[str, Any]]:
    ran = axnb("map", *words, "--json")
    return ran.exit_code, json.loads(ran.stdout)


def test_the_map_of_a_healthy_world(axnb: Run, world: World) -> None:
    words = world.write(*_ALL)
    code, found = _map(axnb, "log.sqlite", *words, "--verify")
    assert [f for f in found["findings"] if f["id"].startswith("AX3")] == []
    assert (code, found["schema"], found["verdict"]) == (0, "axnb.map/1", "ok")
    (snapshot,) = found["snapshots"]
    assert snapshot["key"] == world.snapshot.prefix
    assert snapshot["layout"] == "B3b"
    assert snapshot["conversation_id"] == "conv-0001"
    assert snapshot["actor"] == {"atespace": "ax", "name": "conv-0001", "uid": "a-1"}
    assert snapshot["template"] == {"name": "ax/agent", "uid": "t-1"}
    assert snapshot["image"] == [f"sha256:{'ab' * 32}"]
    assert [asset["sha256"] for asset in snapshot["runtime"]["assets"]] == [_DIGEST]
    assert (snapshot["complete"], snapshot["verified"], snapshot["current"]) == (True,) * 3
    assert (snapshot["restorable"], snapshot["rule"]) == ("full", "memory")
    assert snapshot["how"] == {
        "actor": "record",
        "conversation_id": "record",
        "template": "record",
        "image": "record",
        "runtime": "manifest",
        "layout": "manifest",
        "taken_at": "checkpoint",
    }
    (actor,) = found["actors"]
    assert (actor["latest_is_there"], actor["restorable"]) == (True, "full")
    (conversation,) = found["conversations"]
    assert (conversation["snapshot"], conversation["actor"]) == (snapshot["key"], "ax/conv-0001")


def test_without_records_nothing_is_an_orphan_and_nothing_is_ok(axnb: Run, world: World) -> None:
    code, found = _map(axnb, *world.write(), "--verify")
    assert (code, found["verdict"]) == (3, "inconclusive")
    assert found["snapshots"][0]["how"]["actor"] == "manifest"
    assert not [f for f in found["findings"] if "orphan" in f["name"]]


def test_a_missing_list_of_actors_is_no_list_without_actors(axnb: Run, world: World) -> None:
    code, found = _map(axnb, *world.write("templates", "tags"), "--verify")
    assert code == 3
    assert not [f for f in found["findings"] if "orphan" in f["name"]]
    assert any("actors" in doubt for doubt in found["doubts"])


def test_without_verify_nothing_is_restorable(axnb: Run, world: World) -> None:
    code, found = _map(axnb, "log.sqlite", *world.write(*_ALL))
    assert code == 3
    (snapshot,) = found["snapshots"]
    assert (snapshot["complete"], snapshot["restorable"]) == (True, "unknown")
    assert snapshot["rule"] == "not-verified"


def test_without_a_target_nothing_is_restorable(axnb: Run, world: World) -> None:
    words = world.write(*_ALL)
    (world.folder / "axnb.toml").unlink()
    code, found = _map(axnb, "log.sqlite", *words, "--verify")
    assert (code, found["target"], found["snapshots"][0]["restorable"]) == (3, None, "unknown")


@pytest.mark.parametrize("wound", ["object-missing", "object-truncated", "manifest-missing"])
def test_triage_tells_apart_what_has_lost_its_snapshot(axnb: Run, world: World, wound: str) -> None:
    WOUNDS[wound](world.bucket, world.snapshot)
    words = world.write(*_ALL)
    ran = axnb("triage", "log.sqlite", *words, "--verify", "--json")
    (conversation,) = json.loads(ran.stdout)["conversations"]
    assert ran.exit_code == 1
    assert conversation["state"] == "finished"
    assert conversation["action"] == "decide"
    assert conversation["snapshot"]["restorable"] == "refused"


def test_triage_of_a_healthy_world_needs_nothing(axnb: Run, world: World) -> None:
    ran = axnb("triage", "log.sqlite", *world.write(*_ALL), "--verify", "--json")
    found = json.loads(ran.stdout)
    assert (ran.exit_code, found["conversations"][0]["action"]) == (0, "nothing")
    assert found["conversations"][0]["snapshot"] == {
        "key": world.snapshot.prefix,
        "restorable": "full",
        "relation": "unknown",
    }


def test_a_case_holds_it_for_later(axnb: Run, world: World) -> None:
    words = world.write(*_ALL)
    ran = axnb("load", "log.sqlite", *words, "--verify", "--case", "c.duckdb")
    assert ran.exit_code == 0, ran.stderr
    code, found = _map(axnb, "--case", "c.duckdb")
    assert (code, found["snapshots"][0]["restorable"]) == (0, "full")
    query = "select conversation_id, actor, actor_how, layout, template_uid, images from state_map"
    ran = axnb("sql", query, "--case", "c.duckdb")
    for word in ("conv-0001", "record", "B3b", "t-1", "sha256:abab"):
        assert word in ran.stdout


def test_the_variable_is_the_default(
    axnb: Run, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write()
    ran = axnb("map")
    assert (ran.exit_code, "AX_SNAPSHOTS_BUCKET" in ran.stderr) == (2, True)
    monkeypatch.setenv("AX_SNAPSHOTS_BUCKET", str(world.folder / "bucket"))
    assert _map(axnb)[1]["snapshots"][0]["key"] == world.snapshot.prefix


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--snapshots", "file:///no/such/folder"], 2),
        (["--snapshots", "ftp://x/y"], 2),
        (["--snapshots", "BUCKET", "--records", "missing.json"], 3),
        (["--snapshots", "BUCKET", "--records", "log.sqlite"], 3),
        (["--snapshots", "BUCKET", "--records", "axnb.toml"], 3),
        (["--records", "actors.json"], 2),
    ],
)
def test_bad_input_is_one_sentence(axnb: Run, world: World, words: list[str], code: int) -> None:
    world.write("actors")
    given = [str(world.folder / "bucket") if word == "BUCKET" else word for word in words]
    ran = axnb("map", *given)
    assert ran.exit_code == code, ran.stderr
    told = [line for line in ran.stderr.splitlines() if line]
    assert len(told) == 1
    assert told[0].startswith("axnb: ")
    assert "Traceback" not in ran.output


def _digests(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    "wound",
    [
        None,
        "manifest-torn",
        pytest.param("object-truncated", marks=pytest.mark.slow),
        pytest.param("object-empty", marks=pytest.mark.slow),
    ],
)
def test_no_verb_changes_a_source(axnb: Run, world: World, wound: str | None) -> None:
    if wound is not None:
        WOUNDS[wound](world.bucket, world.snapshot)
    words = world.write(*_ALL)
    before = _digests(world.folder)
    for verb in (
        ("map", *words),
        ("map", "log.sqlite", *words, "--verify", "--json"),
        ("triage", "log.sqlite", *words, "--verify"),
    ):
        axnb(*verb)
        assert _digests(world.folder) == before
    axnb("load", "log.sqlite", *words, "--verify", "--case", "c.duckdb")
    after = _digests(world.folder)
    assert {name for name in after if name not in before} == {"c.duckdb"}
    assert {name: told for name, told in after.items() if name in before} == before


def test_the_same_from_a_server_with_keys_that_may_only_read(
    axnb: Run, world: World, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = world.write(*_ALL)
    name, client = s3.new_bucket(), s3.client()
    for key, data in world.bucket.objects.items():
        client.put_object(Bucket=name, Key=key, Body=data)
    for variable, value in s3.environment(s3.reader).items():
        monkeypatch.setenv(variable, value)

    def listed() -> list[tuple[str, str, Any]]:
        found = client.list_objects_v2(Bucket=name)["Contents"]
        return [(one["Key"], one["ETag"], one["LastModified"]) for one in found]

    before = listed()
    ran = axnb("map", "--snapshots", f"s3://{name}/ax-agent", *words[2:], "--verify", "--json")
    assert listed() == before
    found = json.loads(ran.stdout)
    (snapshot,) = found["snapshots"]
    assert (snapshot["restorable"], snapshot["complete"]) == ("full", True)
    # The records name another bucket, so nothing ties them to this one but the manifest.
    assert snapshot["how"]["actor"] == "manifest"
    assert not [f for f in found["findings"] if f["severity"] == "error"]


def test_an_empty_list_is_of_the_atespaces_that_the_others_show(axnb: Run, world: World) -> None:
    words = world.write(*_ALL)
    actors = world.folder / "actors.json"
    actors.write_text('{"actors": []}', encoding="utf-8")
    _, found = _map(axnb, *words, "--verify")
    orphans = [f for f in found["findings"] if f["id"] == "AX318"]
    assert [f["keys"]["snapshot"] for f in orphans] == [world.snapshot.prefix]
    # Where no other list shows an atespace, nobody knows of which it is.
    bucket = words[:2]
    _, found = _map(axnb, *bucket, "--records", str(actors), "--verify")
    assert not [f for f in found["findings"] if f["id"] == "AX318"]
    words = [*bucket, "--records", str(actors), "--all-atespaces"]
    assert [f["id"] for f in _map(axnb, *words)[1]["findings"]].count("AX318") == 1
