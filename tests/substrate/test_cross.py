"""What the files of a snapshot say against each other: what can be proved, and what cannot."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.substrate.bodies import Body, read_body
from axnb.substrate.cross import Contradiction, contradictions
from axnb.substrate.encoding import ObjectReader, restored, write_plain, write_sparse
from axnb.testing import buckets
from tests.substrate import objects
from tests.substrate.snapshots import Snapshot, bodies, body, snapshots

GOOD = snapshots(objects.good_cases())
SPARSE = [
    (snapshot, file)
    for snapshot in GOOD
    for file, data in snapshot.files.items()
    if data.startswith(b"ATESPRSE")
]


WHOLE = pytest.mark.skipif(not objects.IS_WHOLE, reason="the whole collection does not lie here")


def named(found: list[Contradiction]) -> set[tuple[str, str]]:
    return {(one.file, one.name) for one in found}


@pytest.mark.parametrize("snapshot", GOOD, ids=str)
def test_good_snapshots_have_none(snapshot: Snapshot) -> None:
    assert contradictions(bodies(snapshot)) == []


@pytest.mark.parametrize("generation", ["B0", "B1b", "B2", "B3b", "B5"])
@pytest.mark.parametrize("sandbox_class", ["gvisor", "microvm"])
@pytest.mark.parametrize("scope", ["full", "data"])
def test_snapshots_of_the_builder_have_none(
    generation: str, sandbox_class: str, scope: str
) -> None:
    bucket = buckets.BucketBuilder()
    built = bucket.snapshot(generation, sandbox_class=sandbox_class, scope=scope)
    read = {file: read_body(file, bucket.objects[built.key(file)]) for file in built.files}
    assert contradictions(read) == []
    assert {one.content for one in read.values()} <= {"as-named", "unknown"}


@pytest.mark.parametrize(
    "snapshot",
    [
        snapshot
        for snapshot in snapshots(objects.damaged_cases())
        if snapshot.case.name.endswith(("declared-size-larger", "size-mismatch-other-object"))
    ],
    ids=str,
)
def test_what_no_decoder_sees_is_told_here(snapshot: Snapshot) -> None:
    found = named(contradictions(bodies(snapshot)))
    file = snapshot.case.damage.split(".zstd")[0].rstrip(":")
    if snapshot.case.name.endswith("declared-size-larger"):
        assert found == {(file, "ends-in-a-hole"), (file, "other-size")}
    else:
        assert (file, "same-as-another") in found
        assert {(file, "other-content"), (file, "unusual-content")} & found


# --- a raised size -------------------------------------------------------------------------------


def raised(encoded: bytes, by: int) -> bytes:
    """The object with a size raised by some bytes, written anew; its extents are the same."""
    reader = ObjectReader(encoded)
    parts = [(piece.offset, piece.data) for piece in reader if piece.data is not None]
    return b"".join(write_sparse(reader.size + by, parts))


@given(st.sampled_from(SPARSE), st.one_of(st.integers(1, 5000), st.integers(1, 10**6)))
@settings(max_examples=200, deadline=None)
def test_a_raised_size_is_told(place: tuple[Snapshot, str], by: int) -> None:
    """Of every file; of a machine's memory by its configuration only."""
    snapshot, file = place
    changed = read_body(file, raised(snapshot.files[file], by))
    found = named(contradictions({**bodies(snapshot), file: changed}))
    if file == "memory-ranges":
        assert found >= {(file, "other-size")}
        by_itself = named(contradictions({file: changed}))
        assert by_itself == ({(file, "unusual-content")} if by % 4096 else set())
    else:
        assert found >= {(file, "ends-in-a-hole")}


# --- another object in place ---------------------------------------------------------------------


def everything() -> list[tuple[str, bytes, Body]]:
    """Every file of every good snapshot once, by its content."""
    found: dict[str, tuple[str, bytes, Body]] = {}
    for snapshot in GOOD:
        for file, data in snapshot.files.items():
            found.setdefault(body(file, data).sha256, (file, data, body(file, data)))
    return list(found.values())


def test_another_object_of_the_same_snapshot_is_told() -> None:
    """In any place: two files are equal then."""
    for snapshot in GOOD:
        whole = bodies(snapshot)
        for file in whole:
            for other, data in snapshot.files.items():
                if other != file:
                    changed = {**whole, file: body(file, data)}
                    assert contradictions(changed), (str(snapshot), file, other)


#: Place -> file of another snapshot that can be in it unseen, of some of the genuine snapshots.
#: Of the same kind: everything that nobody tells a size of, or that has the same size by chance.
#: Of another: a durable directory may hold what looks like a root file system; a map of pages and
#: pages have no form of which something else is certainly not, and where nothing else tells their
#: size (a full checkpoint of a `pages_meta.img`, seeded maps of `pages.img`) nothing is said.
UNSEEN = {
    ("checkpoint.img", "checkpoint.img"),
    ("config.json", "config.json"),
    ("durable-dir.tar", "durable-dir.tar"),
    ("durable-dir.tar", "rootfs-upper.tar"),
    ("multitar.img", "multitar.img"),
    ("pages.img", "memory-ranges"),
    ("pages.img", "pages.img"),
    ("pages_meta.img", "base-id"),
    ("pages_meta.img", "fscheckpoint.pb"),
    ("pages_meta.img", "memory-ranges"),
    ("pages_meta.img", "pages.img"),
    ("pages_meta.img", "pages_meta.img"),
}


@WHOLE
def test_what_another_snapshots_object_shows() -> None:
    """Every file of every snapshot in every place of every snapshot."""
    told: Counter[tuple[str, str]] = Counter()
    unseen: Counter[tuple[str, str]] = Counter()
    for snapshot in GOOD:
        whole = bodies(snapshot)
        for file in whole:
            for other, data, about in everything():
                if about.sha256 != whole[file].sha256:
                    found = contradictions({**whole, file: body(file, data)})
                    (told if found else unseen)[file, other] += 1
    assert set(unseen) == UNSEEN
    # Pages in the place of a machine's memory, a tar for a checkpoint, …: all of these are told.
    assert len(set(told) - UNSEEN) > 100
    # A size is told by a neighbour for some of the unseen pairs too.
    assert min(told["pages.img", "pages.img"], told["pages_meta.img", "pages_meta.img"]) > 100


@WHOLE
def test_a_file_of_the_same_kind_and_size_is_not_told() -> None:
    """Documented: the pages of two full checkpoints have the same size here."""
    first, second = (s for s in GOOD if s.case.name == "b3b-full-second")
    swapped = {**bodies(first), "pages.img": bodies(second)["pages.img"]}
    assert contradictions(swapped) == []
    assert bodies(first)["pages.img"].sha256 != bodies(second)["pages.img"].sha256


# --- by hand -------------------------------------------------------------------------------------


def made(file: str, data: bytes) -> Body:
    return read_body(file, b"".join(write_plain([data])))


def test_bundles_are_compared_within_themselves() -> None:
    told = (("multitar.img", 3584),)
    checkpoint = replace(made("fs/a_fscheckpoint.pb", b"\x12\x02v1"), tells=told)
    small, large = buckets.tar(("./a", b"")), buckets.tar(("./a", b"x" * 20_000))
    files = {
        "fs/a_fscheckpoint.pb": checkpoint,
        "fs/a_multitar.img": made("fs/a_multitar.img", large),
        "fs/b_multitar.img": made("fs/b_multitar.img", small),
        "multitar.img": made("multitar.img", small),
    }
    (found,) = contradictions(files)
    detail = f"3584:{len(large)}"
    expected = ("fs/a_multitar.img", "other-size", "fs/a_fscheckpoint.pb", detail)
    assert (found.file, found.name, found.other, found.detail) == expected


def test_what_may_be_equal() -> None:
    empty = buckets.tar()
    equal = {
        "config.json": b"{}",
        "state.json": b"{}",
        "durable-dir.tar": empty,
        "rootfs-upper.tar": empty,
        "leftover.img": b"page" * 1024,
        "pages.img": b"page" * 1024,
    }
    assert contradictions({file: made(file, data) for file, data in equal.items()}) == []
    zeros = b"".join(write_sparse(1 << 20, ()))
    found = contradictions({f: read_body(f, zeros) for f in ("pages.img", "memory-ranges")})
    assert named(found) == {("pages.img", "ends-in-a-hole")}


def test_two_that_are_equal_are_told_of_both() -> None:
    data = b"page" * 1024
    files = {file: made(file, data) for file in ("pages.img", "memory-ranges")}
    assert contradictions(files) == [
        Contradiction("memory-ranges", "same-as-another", "pages.img"),
        Contradiction("pages.img", "same-as-another", "memory-ranges"),
    ]


def test_the_restored_files_are_whole() -> None:
    """The writer of these tests changes no content."""
    snapshot, file = next(place for place in SPARSE if place[1] == "memory-ranges")
    data = b"".join(restored(ObjectReader(snapshot.files[file])))
    assert b"".join(restored(ObjectReader(raised(snapshot.files[file], 10)))) == data + bytes(10)
