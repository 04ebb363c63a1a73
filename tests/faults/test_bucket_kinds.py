"""Kinds of faults of buckets: stores that cap, hide, delete or mangle, and uploads half done."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from axnb.mapping import StateMap
from axnb.substrate.layouts import MANIFEST
from axnb.testing.buckets import Built
from axnb.testing.state import StateBuilder
from tests.checks.states import mapped, severe, state_of
from tests.lying_store import LyingStore
from tests.s3_server import S3Server


def ids(found: StateMap) -> set[str]:
    """Classes of findings above info."""
    return {finding.id for finding in severe(found)}


def installation(
    shape: str = "august", snapshots: int = 2, bucket: str = "snapshots"
) -> StateBuilder:
    """A template and an actor, `conv-0001`."""
    built = StateBuilder(shape, bucket_name=bucket)
    built.template()
    built.actor("conv-0001", snapshots)
    return built


@pytest.fixture
def store() -> Iterator[LyingStore]:
    """A store that has nothing yet and has not lied; nothing is ever written to it."""
    with LyingStore({}) as lying:
        yield lying
        assert {method for method, _ in lying.requests} <= {"GET", "HEAD"}


def of_store(store: LyingStore, built: StateBuilder) -> StateMap:
    """What is found in a store that holds a bucket."""
    store.objects |= built.bucket.objects
    environment = store.environment()
    return mapped(state_of(built, locator="s3://snapshots", environment=environment))


def fill(s3: S3Server, built: StateBuilder) -> None:
    """Put a bucket's objects into a real one."""
    client = s3.client()
    for key, data in built.bucket.objects.items():
        client.put_object(Bucket=built.bucket_name, Key=key, Body=data)


def of_s3(s3: S3Server, built: StateBuilder) -> StateMap:
    """What is found in a bucket of a real server."""
    locator = f"s3://{built.bucket_name}"
    return mapped(state_of(built, locator=locator, environment=s3.environment()))


# --- LO-01, LO-03, LO-06: listings ----------------------------------------------------------------


@pytest.mark.parametrize("token", [str, lambda end: f"a+b/c=%2F&amp; d-{end}"])
def test_a_listing_of_several_pages(store: LyingStore, token: Callable[[int], str]) -> None:
    """The manifest of the snapshot that a record names is the last of 1,001 and more keys."""
    store.token = token
    built = installation()
    built.bucket.objects |= {f"ax-agent/other/{number:04}": b"x" for number in range(1000)}
    assert max(built.bucket.objects) > f"{built.built[-1].prefix}/{MANIFEST}"
    found = of_store(store, built)
    assert severe(found) == []
    assert len(found.snapshots) == 3
    (custody,) = (s["custody"] for s in found.sources if s["kind"] == "bucket")
    assert (custody["objects"], custody["pages"]) == (1012, 2)
    current = next(s for s in found.snapshots if s.row["is_current"] and s.row["logged_id"] is None)
    assert current.row["is_complete"]


def test_a_capped_list_of_versions_says_nothing(store: LyingStore) -> None:
    """Fewer versions than keys: what it does not tell was not deleted."""
    built = installation()
    store.versioning = "Enabled"
    first = sorted(built.bucket.objects)[:4]
    store.objects |= built.bucket.objects
    store.version_entries = [("Version", key, f"v-{key[-9:]}", True) for key in first]
    found = of_store(store, built)
    assert severe(found) == []
    (notes,) = (source["notes"] for source in found.sources if source["kind"] == "bucket")
    assert any("noncurrent versions and delete markers" in note for note in notes)


@pytest.mark.parametrize("what", ["two objects", "a manifest", "a whole snapshot", "a golden one"])
def test_two_listings_that_differ_accuse_nobody(store: LyingStore, what: str) -> None:
    built = installation()
    number = 0 if what == "a golden one" else -1
    prefix = built.built[number].prefix
    keys = sorted(key for key in built.bucket.objects if key.startswith(prefix))
    hidden = {"two objects": set(keys[:2]), "a manifest": {f"{prefix}/{MANIFEST}"}}.get(
        what, set(keys)
    )
    store.hidden = lambda listing: hidden if listing == 1 else set()
    found = of_store(store, built)
    assert ids(found) == {"AX332"}
    assert found.verdict == "inconclusive"


# --- LO-04: delete markers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ("june", MANIFEST),
        ("october", "pages.img.zstd"),
        pytest.param("august", MANIFEST, marks=pytest.mark.slow),
        pytest.param("october", MANIFEST, marks=pytest.mark.slow),
        pytest.param("june", "pages.img.zstd", marks=pytest.mark.slow),
        pytest.param("august", "pages.img.zstd", marks=pytest.mark.slow),
    ],
)
def test_what_was_deleted_can_be_brought_back(s3: S3Server, shape: str, name: str) -> None:
    """Neither missing nor there: an earlier version is in the store, and stays there."""
    built = installation(shape, bucket=s3.new_bucket())
    client, bucket = s3.client(), built.bucket_name
    enabled = {"Status": "Enabled"}
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=enabled)
    fill(s3, built)
    key = f"{built.built[-1].prefix}/{name}"
    client.delete_object(Bucket=bucket, Key=key)
    before = client.list_object_versions(Bucket=bucket)
    found = of_s3(s3, built)
    named = [(f.id, f.object) for f in severe(found)]
    # Of an object without a manifest it cannot be told by whose rules it is missing.
    assert ("AX304", key) in named
    assert {identity for identity, _ in named} <= {"AX304", "AX301"}
    assert [one for one in named if one[1] == key] == [("AX304", key)]
    after = client.list_object_versions(Bucket=bucket)
    assert after["Versions"] == before["Versions"]
    assert after["DeleteMarkers"] == before["DeleteMarkers"]


def test_a_snapshot_that_was_deleted_whole(s3: S3Server) -> None:
    """By Substrate, since September: no finding, unless a record starts from it."""
    built = installation("september", bucket=s3.new_bucket())
    client, bucket = s3.client(), built.bucket_name
    enabled = {"Status": "Enabled"}
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=enabled)
    built.actor("gone", turns=False)
    fill(s3, built)
    prefix = built.built[-1].prefix
    keys = [key for key in built.bucket.objects if key.startswith(prefix)]
    for key in keys:
        client.delete_object(Bucket=bucket, Key=key)
    kept = built.fleet
    built.fleet = replace(kept, actors=tuple(a for a in kept.actors if a.name != "gone"))
    assert severe(of_s3(s3, built)) == []
    built.fleet = kept
    found = of_s3(s3, built)
    assert {(f.id, f.object) for f in severe(found)} == {("AX304", key) for key in keys}


# --- LO-05: odd keys ------------------------------------------------------------------------------

ODD = ("a b", "a+b", "a%2Bb", "100%", "c:d", "ü", unicodedata.normalize("NFD", "ü"), "日本")


@pytest.mark.parametrize(
    "shape", ["june", pytest.param("august", marks=pytest.mark.slow), "october"]
)
def test_odd_keys_are_joined_by_one_rule(s3: S3Server, shape: str) -> None:
    """Records hold URIs, whose escapes are undone once; keys are taken as they are."""
    built = StateBuilder(shape, bucket_name=s3.new_bucket())
    built.template()
    for number, location in enumerate(ODD):
        built.bucket.location = location
        built.actor(f"conv-{number}", turns=False)
    fill(s3, built)
    found = of_s3(s3, built)
    assert severe(found) == []
    held = {s.row["location"]: s.row for s in found.snapshots}
    assert set(ODD) <= set(held)
    for number, location in enumerate(ODD):
        assert held[location]["current_of"] == f"ax/conv-{number}"
        assert held[location]["actor_how"] == "record"
    # A plus is no space: without its object a snapshot is missing, whatever lies beside it.
    lost = next(b for b in built.built if b.prefix.startswith("a b/"))
    client = s3.client()
    for key in [key for key in built.bucket.objects if key.startswith(f"{lost.prefix}/")]:
        client.delete_object(Bucket=built.bucket_name, Key=key)
    assert [(f.id, f.snapshot) for f in severe(of_s3(s3, built))] == [("AX315", lost.prefix)]


# --- LO-07: names ---------------------------------------------------------------------------------

UNSAFE = (
    *("../../outside.txt", "/etc/x", "a/../../b", "..", ".", "", "a//b", "./a", "a/b/c"),
    *("nul\0.img", "back\\slash", "line\nbreak", MANIFEST, "x" * 2000),
)


def test_a_name_that_is_no_file_of_the_snapshot() -> None:
    """Each name in a snapshot of its own; those beside them are not accused."""
    built = installation(snapshots=len(UNSAFE) + 1)
    named = dict(zip((one.prefix for one in built.built[-len(UNSAFE) :]), UNSAFE, strict=True))
    for snapshot in built.built[-len(UNSAFE) :]:
        assert snapshot.manifest is not None
        snapshot.manifest["snapshotFiles"].append(named[snapshot.prefix])
        built.bucket.put_manifest(snapshot)
    found = severe(mapped(state_of(built)))
    assert sorted((f.id, f.snapshot or "") for f in found) == sorted(
        ("AX310", key) for key in named
    )
    for finding in found:
        name = named[finding.snapshot or ""]
        assert name not in finding.sentence or name in (".", "", "..")


# --- LO-08: old manifests -------------------------------------------------------------------------


def test_old_manifests_lack_fields() -> None:
    """Absent is unknown; the owner is told by records, else by nobody."""
    built = StateBuilder("august")
    built.template()
    for number in range(3):
        built.actor(f"conv-{number}", turns=False)
    modern, no_scope, no_identity = built.built[-3:]
    assert no_scope.manifest is not None
    assert no_identity.manifest is not None
    del no_scope.manifest["scope"]
    for key in ("scope", "atespace", "actorName", "actorUid", "actorTemplateName"):
        del no_identity.manifest[key]
    no_identity.manifest["assets"]["runsc"] = no_identity.manifest["assets"].pop("gvisor")
    for one in (no_scope, no_identity):
        built.bucket.put_manifest(one)

    def rows(*kinds: str) -> list[tuple[str, str, str | None, str | None]]:
        found = mapped(state_of(built, kinds=kinds))
        told = {s.key: s.row for s in found.snapshots}
        of_them = [told[one.prefix] for one in (modern, no_scope, no_identity)]
        return [
            (row["content"], row["manifest"], row["actor_name"], row["actor_how"])
            for row in of_them
        ]

    assert rows(*built.kinds()) == [
        ("full", "read", "conv-0", "record"),
        ("unknown", "read", "conv-1", "record"),
        ("unknown", "read", "conv-2", "record"),
    ]
    assert rows() == [
        ("full", "read", "conv-0", "manifest"),
        ("unknown", "read", "conv-1", "manifest"),
        ("unknown", "read", None, None),
    ]


# --- LO-09: half uploaded -------------------------------------------------------------------------


def _no_object(built: StateBuilder, snapshot: Built) -> None:
    del built.bucket.objects[snapshot.key("pages.img")]


def _no_manifest(built: StateBuilder, snapshot: Built) -> None:
    del built.bucket.objects[f"{snapshot.prefix}/{MANIFEST}"]
    del built.bucket.objects[snapshot.key("pages.img")]


def _empty(built: StateBuilder, snapshot: Built) -> None:
    built.bucket.objects[snapshot.key("pages.img")] = b""


def _empty_manifest(built: StateBuilder, snapshot: Built) -> None:
    built.bucket.objects[f"{snapshot.prefix}/{MANIFEST}"] = b""


@pytest.mark.parametrize(
    ("wound", "identity"),
    [(_no_object, "AX303"), (_no_manifest, "AX301"), (_empty, "AX305"), (_empty_manifest, "AX305")],
)
@pytest.mark.parametrize("shape", [pytest.param("july", marks=pytest.mark.slow), "october"])
def test_half_an_upload(
    shape: str, wound: Callable[[StateBuilder, Built], None], identity: str
) -> None:
    built = installation(shape)
    snapshot = built.built[-1]
    wound(built, snapshot)
    found = mapped(state_of(built))
    assert [(f.id, f.snapshot) for f in severe(found)] == [(identity, snapshot.prefix)]
    told = {s.key: s.row["is_complete"] for s in found.snapshots}
    assert told.pop(snapshot.prefix) is False
    # The others are complete, and nobody has read what they hold.
    assert set(told.values()) == {True}
    assert {s.restorable for s in found.snapshots} <= {"refused", "unknown"}
    assert any("not verified" in sentence for sentence in found.scope)
