"""Keys and URIs of every layout, read from the right; keys of strangers never raise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.substrate.errors import LocationError
from axnb.substrate.layouts import Place, parse_prefix, parse_uri, split_uri
from axnb.substrate.listing import Listing, group
from axnb.testing.buckets import WOUNDS, BucketBuilder
from tests.substrate import objects

UUID = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
TIMED = "2026-08-05T16:47:28-04:00-N7GBFQ2XKJ4ZLWMR6TYHPVCD3A"


def place(prefix: str) -> Place:
    found = parse_prefix(prefix)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        (f"ax-agent/conv-1/{TIMED}", ("B0|B1", "ax-agent", None, "conv-1", None, None)),
        (f"conv-1/{TIMED}", ("B0|B1", "", None, "conv-1", None, None)),
        (
            f"snapshots/agent/conv-1/{TIMED}",
            ("B0|B1", "snapshots/agent", None, "conv-1", None, None),
        ),
        (f"a/snapshots/{TIMED}", ("B2", "a", None, None, None, None)),
        (f"snapshots/agent/snapshots/{TIMED}", ("B2", "snapshots/agent", None, None, None, None)),
        (f"root/snapshots/team-a/{UUID}", ("B3", "root", "team-a", None, None, None)),
        (
            "snapshots/secret-agent/snapshots/team-a/snap-1",
            ("B3", "snapshots/secret-agent", "team-a", None, None, None),
        ),
        ("root/snapshots/snapshots/snap-1", ("B3", "root", "snapshots", None, None, None)),
        (
            f"root/atespaces/team-a/actors/{UUID}/snapshots/snap-1",
            ("B4|B5", "root", "team-a", None, UUID, None),
        ),
        (
            f"atespaces/x/atespaces/team-a/actors/{UUID}/snapshots/snap-1",
            ("B4|B5", "atespaces/x", "team-a", None, UUID, None),
        ),
        (f"root/atespaces/team-a/tags/{UUID}", ("B4|B5", "root", "team-a", None, None, UUID)),
        (f"atespaces/snapshots/tags/{UUID}", ("B4|B5", "", "snapshots", None, None, UUID)),
    ],
)
def test_prefixes_of_every_layout(prefix: str, expected: tuple[str | None, ...]) -> None:
    for written in (prefix, f"{prefix}/"):
        found = place(written)
        assert found.prefix == prefix
        assert found.name == prefix.rsplit("/", 1)[1]
        told = (found.layout, found.location, found.atespace, found.actor_id)
        assert (*told, found.actor_uid, found.tag_uid) == expected


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "/",
        "snap-1",
        "root/snapshots/snap-1",
        "root/snapshots/team-a/snap-1/manifest.json",
        "root/snapshots/Team_A/snap-1",
        "root/snapshots/team-a/",
        "root/snapshots//snap-1",
        f"root/snapshots/{'a' * 64}/snap-1",
        "root/snapshots/-a/snap-1",
        f"root//{TIMED}",
        TIMED,
        f"conv-1/{TIMED}x",
        f"conv-1/x{TIMED}",
        f"conv-1/pause-{TIMED}",
        f"conv-1/{TIMED.replace('+', '%2B').replace(':', '%3A')}",
        f"conv-1/{TIMED.lower()}",
        f"conv-1/{TIMED}\n",
        "root/atespaces/team-a/actors/u/snapshots/",
        "root/atespaces/../tags/u",
    ],
)
def test_what_is_no_snapshot(prefix: str) -> None:
    assert parse_prefix(prefix) is None


def test_times_of_names() -> None:
    zone = timezone(-timedelta(hours=4))
    assert place(f"a/{TIMED}").time == datetime(2026, 8, 5, 16, 47, 28, tzinfo=zone)
    assert place(f"a/2026-06-28T10:00:00Z{TIMED[25:]}").time == datetime(
        2026, 6, 28, 10, tzinfo=UTC
    )
    assert place(f"a/2026-13-41T25:00:00Z{TIMED[25:]}").time is None
    assert place(f"snapshots/a/{UUID}").time is None


def test_owner_and_golden() -> None:
    assert place(f"a/{TIMED}").owner == "actor"
    assert place(f"snapshots/{TIMED}").owner is None
    assert place(f"snapshots/{TIMED}").is_golden is None
    assert place(f"snapshots/ate-golden/{UUID}").is_golden is True
    assert place(f"snapshots/ax/{UUID}").is_golden is False
    assert place(f"atespaces/ate-golden/tags/{UUID}").owner == "tag"
    assert place(f"atespaces/ax/actors/{UUID}/snapshots/s").owner == "actor"


def test_names_that_substrate_makes() -> None:
    assert place(f"snapshots/ax/{UUID}").is_usual
    assert place(f"atespaces/ax/tags/{UUID}").is_usual
    assert not place("backup/snapshots/2025/january").is_usual


# --- URIs ----------------------------------------------------------------------------------------


def test_uris() -> None:
    assert parse_uri(f"gs://b/root/snapshots/ax/{UUID}")[0] == "b"
    assert parse_uri(f"s3://b/root/snapshots/ax/{UUID}/")[1].location == "root"
    plus = TIMED.replace("-04:00", "+02:00")
    for spelled in (plus, plus.replace("+", "%2B").replace(":", "%3A")):
        assert parse_uri(f"gs://b/conv/{spelled}")[1].prefix == f"conv/{plus}"
    assert split_uri("gs://b/a%252Bb") == ("b", "a%2Bb")
    assert split_uri("gs://b") == ("b", "")
    assert split_uri("gs://b//a") == ("b", "/a")


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        (f"gs://b/root/snapshots/ax/{UUID}?generation=1", "query"),
        (f"gs://b/root/snapshots/ax/{UUID}#frag", "fragment"),
        ("gs://b/root/snapshots/ax/%zz", "bad-escape"),
        ("gs://user:pw@b/root", "userinfo"),
        (f"/root/snapshots/ax/{UUID}", "no-bucket"),
        ("gs:///root", "no-bucket"),
        ("", "no-bucket"),
        ("gs://b/\0", "control-character"),
        ("gs://b/root/snapshots/snap-1", "no-snapshot"),
        ("gs://b/root/snapshots/ax/snap-1/manifest.json", "no-snapshot"),
    ],
)
def test_uris_that_substrate_refuses(uri: str, reason: str) -> None:
    with pytest.raises(LocationError) as refused:
        parse_uri(uri)
    assert refused.value.reason == reason
    assert "pw" not in str(refused.value)


# --- listings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", objects.cases(), ids=lambda case: case.name)
def test_every_case_of_substrate_is_grouped(case: objects.Case) -> None:
    listing = group(case.objects)
    assert set(listing.snapshots) == set(case.restores)
    layout = case.truth["layout"].split(" ")[0]
    for snapshot in listing.snapshots.values():
        assert layout in snapshot.place.layout
        assert snapshot.odd == []
        assert snapshot.parts == []
    assert [other.kind for other in listing.others] == (
        ["asset"] if "asset-checksum-mismatch" in case.name else []
    )
    assert sorted(_keys(listing)) == sorted(case.objects)


def _keys(listing: Listing) -> Iterator[str]:
    for snapshot in listing.snapshots.values():
        yield from snapshot.files.values()
        yield from snapshot.odd
        yield from (part.key for part in snapshot.parts)
        if snapshot.has_manifest:
            yield snapshot.manifest_key
    yield from (other.key for other in listing.others)


def test_all_layouts_in_one_bucket() -> None:
    bucket = BucketBuilder("snapshots/agent")
    built = [bucket.snapshot(g) for g in ("B0", "B1a", "B1b", "B2", "B3a", "B3b", "B4", "B5")]
    built += [bucket.snapshot("B4", tag_uid=UUID), bucket.golden("B3b")]
    WOUNDS["part-left"](bucket, built[2])
    strangers = ("runsc", "assets/x86_64/runsc", "assets/gvisor.tar.bz2", "a.txt", "dir/", "x.zstd")
    listing = group([*bucket.objects, *strangers])
    assert set(listing.snapshots) == {b.prefix for b in built}
    for one in built:
        found = listing.snapshots[one.prefix]
        assert set(found.files) == set(one.files)
        assert found.has_manifest == (one.manifest is not None)
        assert found.place.location == "snapshots/agent"
    (part,) = listing.snapshots[built[2].prefix].parts
    assert part.object_key == built[2].key("checkpoint.img")
    assert (part.run, part.number) == ("0123456789abcdef", 0)
    kinds = {other.key: other.kind for other in listing.others}
    assert kinds == {
        "runsc": "asset",
        "assets/x86_64/runsc": "asset",
        "assets/gvisor.tar.bz2": "asset",
        "a.txt": "stranger",
        "dir/": "folder-mark",
        "x.zstd": "unplaced",
    }


def test_files_one_level_below_a_snapshot() -> None:
    snapshots = (
        f"root/atespaces/ax/actors/{UUID}/snapshots/{UUID}",
        f"root/atespaces/ax/tags/{UUID}",
        f"root/snapshots/ax/{UUID}",
    )
    for prefix in snapshots:
        keys = [f"{prefix}/checkpoint.img.zstd", f"{prefix}/fs/data_multitar.img.zstd"]
        keys += [f"{prefix}/manifest.json", f"{prefix}/fs/manifest.json", f"{prefix}/note.txt"]
        keys += [f"{prefix}/sub/x.zstd", f"{prefix}/"]
        (found,) = group(keys).snapshots.values()
        assert found.place.prefix == prefix
        assert set(found.files) == {"checkpoint.img", "fs/data_multitar.img", "sub/x"}
        assert sorted(found.odd) == [
            f"{prefix}/",
            f"{prefix}/fs/manifest.json",
            f"{prefix}/note.txt",
        ]


def test_an_actor_never_owns_anothers_objects() -> None:
    bucket = BucketBuilder("root")
    bucket.snapshot("B1b", actor_name="actor-1")
    bucket.snapshot("B1b", actor_name="actor-10")
    found = group(bucket.objects).snapshots.values()
    assert {s.place.actor_id: len(s.files) for s in found} == {"actor-1": 3, "actor-10": 3}


def test_a_folder_of_strangers_is_no_snapshot() -> None:
    listing = group(["backup/snapshots/2025/january/report.csv"])
    assert listing.snapshots == {}
    assert [other.kind for other in listing.others] == ["stranger"]


ODD = [
    "",
    "/",
    "//",
    "/a",
    "//a",
    "a//b",
    "a/b//",
    "../x.zstd",
    f"a/../snapshots/ax/{UUID}/x.zstd",
    f"snapshots/ax/{UUID}//x.zstd",
    f"snapshots/ax/{UUID}/../x.zstd",
    f"/snapshots/ax/{UUID}/x.zstd",
    f"snapshots/ax/{UUID}/.zstd",
    f"snapshots/ax/{UUID}/x\0y.zstd",
    f"conv%2B1/{TIMED}/x.zstd",
    f"c/{TIMED.replace(':', '%3A')}/x.zstd",
    "100%",
    "a b",
    "a+b",
    "a%2Bb",
    "u\u0308",
    "\u00fc",
    "\ud800",
    "\0",
    "\u202e/manifest.json",
]


def test_odd_keys_stay_distinct_and_none_is_lost() -> None:
    assert sorted(_keys(group(ODD * 2))) == sorted(ODD)


SEGMENT = st.one_of(
    st.sampled_from(
        ["snapshots", "atespaces", "actors", "tags", "fs", "ax", UUID, TIMED, "", "..", "%2B"]
    ),
    st.text(max_size=5),
)
NAME = st.sampled_from(
    ["manifest.json", "x.zstd", ".zstd", "x", "", "a.part-0123456789abcdef-0001"]
)
KEY = st.tuples(st.lists(SEGMENT, max_size=8), NAME).map(lambda made: "/".join([*made[0], made[1]]))


@given(keys=st.lists(KEY, max_size=12), order=st.randoms(use_true_random=False))
@settings(max_examples=400, deadline=None)
def test_any_keys_are_grouped_without_loss(keys: list[str], order: object) -> None:
    listing = group(keys)
    assert sorted(_keys(listing)) == sorted(set(keys))
    shuffled = list(keys)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert group(shuffled) == listing


@given(
    location=st.lists(SEGMENT, max_size=4).map("/".join),
    generation=st.sampled_from(["B0", "B1b", "B2", "B3b", "B4", "B5"]),
    tag=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_a_location_of_any_text_leaves_the_rest_readable(
    location: str, generation: str, tag: bool
) -> None:
    bucket = BucketBuilder(location)
    is_tag = tag and generation in ("B4", "B5")
    built = bucket.snapshot(generation, scope="data", tag_uid=UUID if is_tag else None)
    (snapshot,) = group(bucket.objects).snapshots.values()
    assert snapshot.place.prefix == built.prefix
    assert snapshot.place.location == location
    assert generation[:2] in snapshot.place.layout


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_any_uri_is_read_or_refused(text: str) -> None:
    for uri in (text, f"gs://{text}", f"gs://b/{text}"):
        try:
            split_uri(uri)
        except LocationError:
            continue


def test_a_hundred_thousand_keys() -> None:
    keys = [
        f"ax-agent/snapshots/ax/{UUID[:-8]}{n:08x}/{file}"
        for n in range(25_000)
        for file in (
            "checkpoint.img.zstd",
            "manifest.json",
            "pages.img.zstd",
            "pages_meta.img.zstd",
        )
    ]
    start = time.process_time()
    listing = group(iter(keys))
    assert time.process_time() - start < 1
    assert len(listing.snapshots) == 25_000


def test_a_snapshot_named_after_a_time_is_no_folder_of_a_tag() -> None:
    """Its location ends like a tag's: of what lies below, the name tells."""
    name = "2026-06-10T10:00:00+02:00-AAAAAAAAAAAAAAAAAAAAAAAAAB"
    prefix = f"atespaces/snapshots/tags/conv-0001/{name}"
    found = group([f"{prefix}/pages.img.zstd"]).snapshots
    assert [(key, snapshot.place.layout) for key, snapshot in found.items()] == [(prefix, "B0|B1")]
