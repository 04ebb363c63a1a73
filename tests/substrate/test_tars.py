"""Members of the tars in snapshots, and what of them is not to be restored blindly."""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.substrate.encoding import ObjectReader, Piece, extents, write_sparse
from axnb.substrate.errors import TarError
from axnb.substrate.tars import Member, TarLimits, members
from axnb.testing.buckets import tar
from tests.substrate import objects


def pieces(data: bytes, step: int = 700) -> Iterator[Piece]:
    for start in range(0, len(data), step):
        part = data[start : start + step]
        yield Piece(start, len(part), part)


def listed(data: bytes, **options: Any) -> list[Member]:
    return list(members(pieces(data), **options))


def refusal(data: bytes, **options: Any) -> str:
    with pytest.raises(TarError) as refused:
        listed(data, **options)
    return refused.value.reason


def member(name: str, kind: bytes = tarfile.REGTYPE, **about: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in about.items():
        setattr(info, key, value)
    return info, b""


def standard(data: bytes) -> list[tuple[str, int, int, str]]:
    """What the standard library says of the members."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [(m.name, m.size, m.mode, m.linkname) for m in archive]


# --- what Substrate and gVisor wrote -------------------------------------------------------------

TARS = [
    (case, file)
    for case in objects.good_cases()
    for file in ("durable-dir.tar", "rootfs-upper.tar", "multitar.img")
    if any(key.endswith(f"/{file}.zstd") for key in case.objects)
]


@pytest.mark.parametrize(("case", "file"), TARS, ids=[f"{c.name}/{f}" for c, f in TARS])
def test_tars_of_substrate(case: objects.Case, file: str) -> None:
    is_multitar = file == "multitar.img"
    found = list(members(ObjectReader(case.encoded(file)), is_multitar=is_multitar))
    assert [one.risks for one in found] == [()] * len(found)
    sizes = {one.name: one.size for one in found if one.kind == "file"}
    if is_multitar:
        # 32 bytes in the tar, this many in `pages.img`.
        assert sizes == {"./state.txt": 27, "./notes.log": 14}
    elif file == "rootfs-upper.tar":
        kinds = {one.name: one.kind for one in found}
        assert kinds["app/fs/removed.txt"] == "whiteout"
        assert kinds["app/fs/opaque-dir/"] == "directory"
    else:
        assert sizes["data/sub/notes.log"] == 14
        (link,) = (one for one in found if one.kind == "symlink")
        assert (link.name, link.link) == ("data/latest", "state.txt")


# --- members and risks ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "risks"),
    [
        (member("data/a"), ()),
        (member("./data/a"), ()),
        (member("data/..a"), ()),
        (member("data/x/../a"), ()),
        (member("/etc/passwd"), ("absolute",)),
        (member("../a"), ("leaves-tree",)),
        (member("a/../../b"), ("leaves-tree",)),
        (member("a/..\n"), ("control-character",)),
        (member("a", mode=0o4755), ("setuid",)),
        (member("a", mode=0o2755), ("setgid",)),
        (member("a", mode=0o6755), ("setuid", "setgid")),
        (member("a", mode=0o1777), ()),
        (member("a", tarfile.DIRTYPE, mode=0o2775), ()),
        (member("a", tarfile.CHRTYPE, devmajor=1, devminor=3), ("device",)),
        (member("a", tarfile.CHRTYPE), ()),
        (member("a", tarfile.BLKTYPE), ("device",)),
        (member("a", tarfile.FIFOTYPE), ("fifo",)),
        (member("a", b"Z"), ("unknown-type",)),
        (member("d/a", tarfile.SYMTYPE, linkname="b"), ()),
        (member("d/a", tarfile.SYMTYPE, linkname="../b"), ()),
        (member("d/a", tarfile.SYMTYPE, linkname="../../b"), ("link-leaves-tree",)),
        (member("d/a", tarfile.SYMTYPE, linkname="/etc"), ("link-leaves-tree",)),
        (member("d/a/", tarfile.SYMTYPE, linkname="../../b"), ("link-leaves-tree",)),
        (member("d/a", tarfile.LNKTYPE, linkname="d/b"), ()),
        (member("d/a", tarfile.LNKTYPE, linkname="../b"), ("link-leaves-tree",)),
        (member("d/a", tarfile.LNKTYPE, linkname="/b"), ("link-leaves-tree",)),
    ],
)
def test_risks(about: tuple[tarfile.TarInfo, bytes], risks: tuple[str, ...]) -> None:
    (found,) = listed(tar(about))
    assert found.risks == risks


def test_long_names_of_every_writer() -> None:
    name, link = "d/" * 120 + "n" * 90, "l" * 300
    about, _ = member(name, tarfile.SYMTYPE, linkname=link)
    for style in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=style) as archive:
            archive.addfile(about)
        (found,) = listed(out.getvalue())
        assert (found.name, found.link) == (name, link)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(member("d" * 90 + "/" + "n" * 90)[0])
    (found,) = listed(out.getvalue())
    assert found.name == "d" * 90 + "/" + "n" * 90


def test_names_that_are_no_utf8_stay_distinct() -> None:
    data = bytearray(tar(("abc", b"")))
    data[0:3] = b"\xffb\xfe"
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    (found,) = listed(bytes(data))
    assert found.name.encode("utf-8", "surrogateescape") == b"\xffb\xfe"


def test_bodies_cost_nothing_and_holes_are_zeros() -> None:
    """A member of 8 GiB that is a hole, in a tar of a few hundred encoded bytes."""
    size = 8 << 30
    about = tarfile.TarInfo("big")
    about.size = size
    header = about.tobuf(tarfile.GNU_FORMAT)
    tail = tar(("after", b"x"))
    encoded = b"".join(write_sparse(512 + size + len(tail), [(0, header), (512 + size, tail)]))
    found = list(members(ObjectReader(encoded)))
    assert [(one.name, one.size) for one in found] == [("big", size), ("after", 1)]


def test_a_sparse_tar_reads_as_the_whole_one() -> None:
    data = tar(("a", bytes(20_000)), ("b", b"x" * 9000), ("c", bytes(5000)))
    encoded = b"".join(write_sparse(len(data), extents(data)))
    assert list(members(ObjectReader(encoded))) == listed(data)


def test_several_tars_in_one() -> None:
    stub = struct.pack("<QQQQ", 5000, 4096, 0, 0)
    first, second = tar(("a", stub), ("short", b"x")), tar(("b", stub))
    found = listed(first + second, is_multitar=True)
    assert [(one.name, one.size) for one in found] == [("a", 5000), ("short", 1), ("b", 5000)]
    assert refusal(first + second) == "trailing-bytes"


@pytest.mark.parametrize("step", [1, 511, 512, 700, 5000])
@pytest.mark.parametrize("gap", [0, 512, 20 * 512])
def test_zeros_between_and_behind_tars(step: int, gap: int) -> None:
    data = tar(("a", b"x")) + bytes(gap) + tar(("b", b"y")) + bytes(gap)
    found = list(members(pieces(data, step), is_multitar=True))
    assert [one.name for one in found] == ["a", "b"]
    assert data[found[1].offset : found[1].offset + 1] == b"b"
    with pytest.raises(TarError) as refused:
        list(members(pieces(data + b"\0", step), is_multitar=True))
    assert refused.value.reason == "truncated"
    with pytest.raises(TarError) as refused:
        list(members(pieces(data + b"x" * 512, step), is_multitar=True))
    assert refused.value.reason == "not-a-tar"


def test_zeros_cost_nothing() -> None:
    """64 GiB of a hole behind the first of several tars, and nothing but that."""
    data, size = tar(("a", b"x")), 64 << 30
    encoded = b"".join(write_sparse(size, [(0, data), (size - len(data), data)]))
    assert len(list(members(ObjectReader(encoded), is_multitar=True))) == 2
    assert list(members(ObjectReader(b"".join(write_sparse(size, ()))), is_multitar=True)) == []


# --- damage --------------------------------------------------------------------------------------


def changed(data: bytes, position: int, value: bytes, *, is_summed: bool = True) -> bytes:
    made = bytearray(data)
    made[position : position + len(value)] = value
    if is_summed:
        made[148:156] = b" " * 8
        made[148:156] = b"%06o\0 " % sum(made[:512])
    return bytes(made)


A_TAR = tar(("a", b"x" * 600))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"x", "truncated"),
        (A_TAR[:511], "truncated"),
        (A_TAR[:512], "truncated"),
        (A_TAR[:1024], "truncated"),
        (A_TAR[:1536], "truncated"),
        (A_TAR[:2048], "truncated"),
        (b"page" * 256, "not-a-tar"),
        (b"\0" * 8192 + b"x", "trailing-bytes"),
        (bytes(512) + A_TAR, "not-a-tar"),
        (changed(A_TAR, 0, b"b", is_summed=False), "checksum"),
        (changed(A_TAR, 124, b"zzzzzzzzzzz\0"), "bad-number"),
        (changed(A_TAR, 124, b"\xff" * 12), "bad-number"),
        (changed(A_TAR, 124, b"\x80" + b"\x7f" * 11), "truncated"),
        (changed(A_TAR, 156, b"x"), "bad-record"),
        (changed(changed(A_TAR, 156, b"L"), 124, b"77777777777\0"), "extended-too-long"),
        (changed(changed(A_TAR, 156, b"x"), 124, b"77777777777\0"), "extended-too-long"),
        (changed(A_TAR, 156, b"L")[:1536], "truncated"),
        (changed(A_TAR, 156, b"L"), "bad-record"),
        (A_TAR + b"x", "trailing-bytes"),
    ],
)
def test_damaged_tars_are_refused(data: bytes, reason: str) -> None:
    assert refusal(data) == reason


@pytest.mark.parametrize(
    "record",
    [b"5 a=b\n", b"7 a=b\n", b"99 a=b\n", b"6 a=b", b"0 a=b\n", b"x a=b\n", b" a=b\n"],
)
def test_bad_records(record: bytes) -> None:
    about, _ = member("x", tarfile.XHDTYPE)
    about.size = len(record)
    header = about.tobuf(tarfile.USTAR_FORMAT)
    assert refusal(header + record.ljust(512, b"\0") + A_TAR) == "bad-record"


def test_a_size_in_a_record_counts() -> None:
    record = b"13 size=1200\n"
    about, _ = member("x", tarfile.XHDTYPE)
    about.size = len(record)
    header = about.tobuf(tarfile.USTAR_FORMAT)
    data = header + record.ljust(512, b"\0") + A_TAR[:512] + b"x" * 1536 + bytes(1024)
    (found,) = listed(data)
    assert found.size == 1200
    assert refusal(data.replace(b"size=1200", b"size=-200")) == "bad-number"


def test_limits() -> None:
    many = tar(*((f"f{n}", b"") for n in range(11)))
    assert refusal(many, limits=TarLimits(max_members=10)) == "too-many-members"
    assert len(listed(many, limits=TarLimits(max_members=11))) == 11
    long = tar(("n" * 300, b""))
    assert refusal(long, limits=TarLimits(max_extended=100)) == "extended-too-long"


def test_another_file_in_place_of_a_tar() -> None:
    swapped = objects.case("damaged-b3b-data-size-mismatch-other-object")
    with pytest.raises(TarError) as refused:
        list(members(ObjectReader(swapped.encoded("multitar.img")), is_multitar=True))
    assert refused.value.reason == "not-a-tar"


NAMES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=120
).filter(lambda name: not name.endswith("/"))


@given(st.lists(st.tuples(NAMES, st.binary(max_size=900)), max_size=5), st.integers(1, 2000))
@settings(max_examples=200, deadline=None)
def test_members_as_the_standard_library_reads_them(
    made: list[tuple[str, bytes]], step: int
) -> None:
    data = tar(*made)
    found = list(members(pieces(data, step)))
    assert [(one.name, one.size, one.mode, one.link) for one in found] == standard(data)


@given(st.binary(max_size=1200), st.integers(0, 511), st.integers(0, 255))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_listed_or_refused(data: bytes, position: int, value: int) -> None:
    for tried in (data, changed(A_TAR, position, bytes([value]))):
        try:
            listed(tried)
        except TarError:
            continue
