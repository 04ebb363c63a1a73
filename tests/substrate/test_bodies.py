"""One pass over an object: its file, what it holds, and whether that is what its name says."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.substrate.bodies import ENDS_IN_A_HOLE, Body, read_body
from axnb.substrate.contents import MAX_RISKY, kind_of, neighbour
from axnb.substrate.encoding import Decoded, read, write_plain, write_sparse
from axnb.substrate.errors import ObjectError
from axnb.testing import buckets
from axnb.testing.buckets import tar
from tests.substrate import objects
from tests.substrate.snapshots import Snapshot, bodies, snapshots

GOOD = snapshots(objects.good_cases())


def plain(data: bytes) -> bytes:
    return b"".join(write_plain([data]))


def sparse(size: int, *parts: tuple[int, bytes]) -> bytes:
    return b"".join(write_sparse(size, parts))


def found(file: str, data: bytes) -> tuple[str, str]:
    body = read_body(file, plain(data))
    return body.content, body.content_why


# --- what Substrate wrote ------------------------------------------------------------------------

#: Files of which the content is not known: raw memory, and maps of seeded bytes.
UNKNOWN = {"pages.img", "memory-ranges"}


@pytest.mark.parametrize("snapshot", GOOD, ids=str)
def test_good_objects(snapshot: Snapshot) -> None:
    restore = snapshot.case.restores.get(snapshot.prefix, {})
    truth = {file["name"]: file for file in restore.get("restored_files") or ()}
    for file, body in bodies(snapshot).items():
        if file in truth:
            assert (body.size, body.sha256) == (truth[file]["size"], truth[file]["sha256"])
        assert body.encoded_sha256 == hashlib.sha256(snapshot.files[file]).hexdigest()
        assert body.remarks == ()
        # Memory of the stand-ins ends with data; that of a real machine need not.
        assert not body.ends_in_hole
        is_seeded = file == "pages_meta.img" and body.size == 200
        assert body.content == ("unknown" if file in UNKNOWN or is_seeded else "as-named"), file
        assert (body.checkpoint is not None) == (file == "checkpoint.img")
        assert (body.members is not None) == (file.endswith(".tar") or file == "multitar.img")
        assert body.members is None or body.members.count > 0


def test_what_a_body_tells() -> None:
    full = objects.case("b3b-full")
    head = read_body("checkpoint.img", full.encoded("checkpoint.img")).checkpoint
    assert head is not None
    assert {one.name for one in head.containers} == {"app", "pause"}
    assert read_body("pages_meta.img", full.encoded("pages_meta.img")).tells == (
        ("pages.img", 1363968),
    )
    data = objects.case("b2-data")
    told = (("multitar.img", 3584), ("pages_meta.img", 88))
    assert read_body("fscheckpoint.pb", data.encoded("fscheckpoint.pb")).tells == told
    machine = objects.case("b3b-microvm-full")
    config = read_body("config.json", machine.encoded("config.json"))
    assert config.tells == (("memory-ranges", 4 << 20),)
    assert "virtiofsd" not in repr(config)


def outcome(reading: Callable[..., Decoded], *about: object) -> tuple[object, ...]:
    try:
        decoded = reading(*about)
    except ObjectError as err:
        return err.reason, err.offset
    return decoded.size, decoded.sha256, decoded.holes, decoded.frames


@pytest.mark.parametrize("snapshot", snapshots(objects.damaged_cases()), ids=str)
def test_damaged_objects_are_refused_as_by_the_decoder(snapshot: Snapshot) -> None:
    for file, data in snapshot.files.items():
        assert outcome(read_body, file, data) == outcome(read, data)


# --- content and name ----------------------------------------------------------------------------

CHECKPOINT = buckets.checkpoint()
DURABLE = tar(("data/a", b"x" * 700), ("data/b/c", b""))
UPPER = tar(("app/fs/etc/a", b"x"))
CONFIG = json.dumps({"cpus": {}, "memory": {"size": 4096}}).encode()
STATE = json.dumps({"id": "", "snapshots": {}}).encode()
FS = json.dumps({"runsc_version": "v1", "memory_files": [], "tmpfs": [{"tar_end": 5}]}).encode()
PB = b"\x08\x01\x12\x02v1\x18\x80 "
MAP = struct.pack("<Q", 13) + b"\x08\x01\x1a\x09\x10\x80\x40\x18\x03\x20\x06\x28\x01"


@pytest.mark.parametrize(
    ("file", "data", "expected"),
    [
        ("checkpoint.img", CHECKPOINT, ("as-named", "")),
        ("checkpoint.img", CHECKPOINT[:100], ("other", "truncated")),
        ("checkpoint.img", DURABLE, ("other", "not-a-checkpoint")),
        ("checkpoint.img", b"", ("other", "truncated")),
        ("checkpoint.img", b"gVisorSF" + struct.pack(">Q", 2 << 20), ("unknown", "head-too-long")),
        ("durable-dir.tar", DURABLE, ("as-named", "")),
        ("durable-dir.tar", DURABLE[:-600], ("as-named", "")),
        ("durable-dir.tar", DURABLE[:1000], ("other", "truncated")),
        ("durable-dir.tar", CHECKPOINT, ("other", "not-a-tar")),
        ("durable-dir.tar", bytes(1024), ("as-named", "")),
        ("durable-dir.tar", tar(("./state.txt", b"x")), ("unknown", "members-of-another-tar")),
        ("rootfs-upper.tar", UPPER, ("as-named", "")),
        ("rootfs-upper.tar", DURABLE, ("unknown", "members-of-another-tar")),
        ("rootfs-upper.tar", tar(("./state.txt", b"x")), ("unknown", "members-of-another-tar")),
        ("multitar.img", DURABLE + UPPER, ("as-named", "")),
        ("multitar.img", b"page" * 2048, ("other", "not-a-tar")),
        ("fs/app_rootfs_multitar.img", DURABLE, ("as-named", "")),
        ("fs/data.tar", b"page" * 2048, ("other", "not-a-tar")),
        ("fscheckpoint.json", FS, ("as-named", "")),
        ("fscheckpoint.json", b"{}", ("other", "keys-of-another-file")),
        ("fscheckpoint.json", CONFIG, ("other", "keys-of-another-file")),
        ("fscheckpoint.json", PB, ("other", "not-utf8")),
        ("fscheckpoint.json", b"[1]", ("other", "wrong-type")),
        ("fscheckpoint.json", b'{"tmpfs":[1]}', ("other", "wrong-type")),
        ("fscheckpoint.json", b'{"a":1,"a":2}', ("unknown", "duplicate-key")),
        ("fscheckpoint.json", b"{" + b" " * (1 << 20), ("unknown", "too-large")),
        ("fscheckpoint.json", b"p" * (2 << 20), ("other", "too-large")),
        ("fscheckpoint.pb", PB, ("as-named", "")),
        ("app_rootfs_fscheckpoint.pb", PB, ("as-named", "")),
        ("fscheckpoint.pb", FS, ("other", "bad-protobuf")),
        ("fscheckpoint.pb", b"", ("other", "keys-of-another-file")),
        ("fscheckpoint.pb", b"\x08\x01", ("other", "keys-of-another-file")),
        ("fscheckpoint.pb", b"\x12" * (2 << 20), ("unknown", "too-large")),
        ("config.json", CONFIG, ("as-named", "")),
        ("config.json", b"{}", ("as-named", "")),
        ("config.json", STATE, ("other", "keys-of-another-file")),
        ("config.json", FS, ("other", "keys-of-another-file")),
        ("config.json", b"[]", ("other", "not-an-object")),
        ("config.json", b"{", ("other", "not-json")),
        ("config.json", b'{"a":' + b"[" * 99 + b"]" * 99 + b"}", ("unknown", "too-deep")),
        ("state.json", STATE, ("as-named", "")),
        ("state.json", CONFIG, ("other", "keys-of-another-file")),
        ("state.json", FS, ("other", "keys-of-another-file")),
        ("state.json", STATE + bytes(9), ("other", "not-json")),
        ("base-id", b"3a5b4e86-1a77-4da7-84c4-c0993d9c83ec", ("as-named", "")),
        ("base-id", b"golden-1\n", ("as-named", "")),
        ("base-id", b"team/golden 1", ("unknown", "no-identifier")),
        ("base-id", STATE, ("other", "no-identifier")),
        ("base-id", b"golden\0", ("other", "no-identifier")),
        ("base-id", b"g" * (2 << 20), ("other", "too-large")),
        ("pages_meta.img", MAP, ("as-named", "")),
        ("pages_meta.img", MAP + MAP, ("as-named", "")),
        ("pages_meta.img", MAP + b"\0", ("unknown", "form-not-known")),
        ("pages_meta.img", MAP[:-1], ("unknown", "form-not-known")),
        ("pages_meta.img", b"map" * 30, ("unknown", "form-not-known")),
        ("pages_meta.img", b"", ("unknown", "form-not-known")),
        ("pages_meta.img", CHECKPOINT, ("other", "is-a-checkpoint")),
        ("pages_meta.img", b"gVisorSF", ("unknown", "form-not-known")),
        ("pages_meta.img", STATE, ("other", "is-json")),
        ("pages_meta.img", DURABLE, ("other", "is-a-tar")),
        ("pages.img", b"page" * 2048, ("unknown", "nothing-to-recognise")),
        ("pages.img", b"", ("unknown", "nothing-to-recognise")),
        ("pages.img", b"page" * 2047, ("unknown", "no-whole-pages")),
        ("pages.img", MAP, ("other", "is-a-page-map")),
        # A file in a durable directory may be a tar; its pages are those of `pages.img`.
        ("pages.img", DURABLE.ljust(12288, b"\0"), ("unknown", "nothing-to-recognise")),
        ("memory-ranges", b"page" * 2048, ("unknown", "nothing-to-recognise")),
        ("memory-ranges", DURABLE.ljust(12288, b"\0"), ("other", "is-a-tar")),
        ("memory-ranges", bytes(8192), ("unknown", "nothing-to-recognise")),
        ("memory-ranges", STATE, ("other", "is-json")),
        ("memory-ranges", CHECKPOINT, ("other", "is-a-checkpoint")),
        ("memory-ranges", b"page" * 2047, ("unknown", "no-whole-pages")),
        ("leftover.img", b"left over", ("unknown", "name-not-known")),
    ],
)
def test_content_and_name(file: str, data: bytes, expected: tuple[str, str]) -> None:
    assert found(file, data) == expected


def test_names_of_bundles() -> None:
    assert kind_of("fs/app_rootfs_multitar.img") == "multitar.img"
    assert kind_of("app_rootfs_pages_meta.img") == "pages_meta.img"
    assert kind_of("app_rootfs_pages.img") == "pages.img"
    assert kind_of("fs/pages.img") == "pages.img"
    assert kind_of("leftover.img") == "leftover.img"
    assert neighbour("fs/a_fscheckpoint.pb", "multitar.img") == "fs/a_multitar.img"
    assert neighbour("pages_meta.img", "pages.img") == "pages.img"


@pytest.mark.parametrize(
    ("memory", "told"),
    [
        ({"size": 4096}, (("memory-ranges", 4096),)),
        ({"size": 4096, "zones": [{"id": "a"}]}, ()),
        ({"size": 4096, "hotplugged_size": 4096}, ()),
        ({"size": 4096, "zones": None, "hotplugged_size": None}, (("memory-ranges", 4096),)),
        ({"size": 0}, ()),
        ({"size": True}, ()),
        ({"size": "4096"}, ()),
        ([], ()),
    ],
)
def test_sizes_of_a_machine(memory: object, told: object) -> None:
    body = read_body("config.json", plain(json.dumps({"memory": memory}).encode()))
    assert body.tells == told


# --- members -------------------------------------------------------------------------------------


def test_risky_members_are_told_of_and_bounded() -> None:
    link = tarfile.TarInfo("data/out")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/shadow"
    body = read_body("durable-dir.tar", plain(tar(("data/a", b"x"), (link, b""))))
    assert body.members is not None
    assert body.members.count == 2
    (risky,) = body.members.risky
    assert (risky.name, risky.kind, risky.risks) == ("data/out", "symlink", ("link-leaves-tree",))
    many = read_body("durable-dir.tar", plain(tar(*((f"/a/{n}", b"") for n in range(1200)))))
    assert many.members is not None
    assert (many.members.count, many.members.risky_count) == (1200, 1200)
    assert len(many.members.risky) == MAX_RISKY
    long = read_body("durable-dir.tar", plain(tar(*((f"/{n}" * 20_000, b"") for n in range(9)))))
    assert long.members is not None
    assert long.members.risky_count == 9
    assert sum(len(one.name) for one in long.members.risky) <= 1 << 18


def test_members_before_the_damage_are_kept() -> None:
    data = tar(("data/a", b"x"), ("/b", b"x"))
    body = read_body("durable-dir.tar", plain(data[:2000]))
    assert (body.content, body.content_why) == ("other", "truncated")
    assert body.members is not None
    assert body.members.count == 1


# --- holes, watching, digests --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "remarks"),
    [
        ("multitar.img", (ENDS_IN_A_HOLE,)),
        ("memory-ranges", ()),
        ("fs/x_pages.img", (ENDS_IN_A_HOLE,)),
    ],
)
def test_a_hole_at_the_end(file: str, remarks: tuple[str, ...]) -> None:
    data = b"page" * 1024
    assert read_body(file, sparse(8192, (0, data))).ends_in_hole
    assert read_body(file, sparse(8192, (0, data))).remarks == remarks
    assert read_body(file, sparse(8192, (4096, data))).remarks == ()
    assert read_body(file, sparse(8192, (0, data), (8192, b""))).ends_in_hole


def test_a_watcher_gets_the_data_and_no_holes() -> None:
    got: list[tuple[int, bytes]] = []
    data = bytes(range(256)) * 4096
    encoded = sparse(9 << 20, (4096, data), (8 << 20, b"end"))
    read_body("memory-ranges", encoded, watch=lambda offset, part: got.append((offset, part)))
    assert sum(len(part) for _, part in got) == len(data) + 3
    whole = bytearray(9 << 20)
    for offset, part in got:
        whole[offset : offset + len(part)] = part
    assert whole[4096 : 4096 + len(data)] == data
    assert whole.endswith(b"end" + bytes((1 << 20) - 3))


def test_a_watcher_sees_all_whatever_the_content_is() -> None:
    for file in ("checkpoint.img", "durable-dir.tar", "config.json", "pages_meta.img", "x"):
        got: list[bytes] = []
        data = b"not what the name says" * 99_999
        read_body(file, plain(data), watch=lambda _, part, got=got: got.append(part))  # type: ignore[misc]
        assert b"".join(got) == data


def test_a_digest_that_is_known_is_taken() -> None:
    body = read_body("x", plain(b"abc"), digest=lambda: "known")
    assert body.encoded_sha256 == "known"
    assert body.sha256 == hashlib.sha256(b"abc").hexdigest()


# --- hostile objects -----------------------------------------------------------------------------

NAMES = sorted({file for snapshot in GOOD for file in snapshot.files})
BEGINNINGS = [b"", b"gVisorSF\0\0\0\0\0\0\0\x09", b"{", MAP, DURABLE[:512], b"\x8d" + b"\x80" * 8]


@given(st.sampled_from(NAMES), st.sampled_from(BEGINNINGS), st.binary(max_size=1500))
@settings(max_examples=600, deadline=None)
def test_any_content_is_said_to_be_something(file: str, start: bytes, data: bytes) -> None:
    body = read_body(file, plain(start + data))
    assert body.sha256 == hashlib.sha256(start + data).hexdigest()
    assert body.content in ("as-named", "other", "unknown")
    assert (body.content == "as-named") == (body.content_why == "")


@given(st.sampled_from(NAMES), st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_object_is_read_or_refused(file: str, data: bytes) -> None:
    with contextlib.suppress(ObjectError):
        read_body(file, b"ATESPRSE\2\0\0\0\x28\xb5\x2f\xfd" + data)


def genuine_map(case: str) -> bytes:
    got: list[bytes] = []
    data = objects.case(case).encoded("pages_meta.img")
    read_body("pages_meta.img", data, watch=lambda _, part: got.append(part))
    return b"".join(got)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["b1b-data", "b2-data", "b0-full", "b3b-full"])
def test_damaged_maps_are_not_as_named_by_chance(case: str) -> None:
    """Every truncation, and every byte raised: another size or no map, but never an error."""
    data = genuine_map(case)
    size = read_body("pages_meta.img", plain(data)).tells[0][1]
    for length in range(len(data)):
        body = read_body("pages_meta.img", plain(data[:length]))
        # Where a memory file ends, a map of several is a map of fewer.
        assert body.tells == () or body.tells[0][1] <= size
    for position in range(0, len(data), 3):
        changed = bytearray(data)
        changed[position] = (changed[position] + 1) & 0xFF
        read_body("pages_meta.img", plain(bytes(changed)))


#: An array of 2**62 zeros takes no bytes, and 100,000 arrays of 1,000 zeros each take few.
BOMBS = {
    "array": b"\x81" + b"\x80" * 8 + b"\x01\x02\x01\x09" + b"\xff" * 8 + b"\x3f\x05",
    "arrays": b"\xff\xff\xff" + b"\x80" * 6 + b"\x01" + b"\x02\x01\x09\xe8\x07\x05" * 80_000,
    "depth": b"\x81" + b"\x80" * 8 + b"\x01\x02\x01" + b"\x09\x01" * 200_000,
    "structs": b"\xff\xff\xff" + b"\x80" * 6 + b"\x01" + b"\x02\x01\x0b\x01\x0c" * 100_000,
    "message": struct.pack("<Q", 400_000) + b"\x1a\x00" * 200_000,
    "global records": b"",
}

_MEASURE = """
import resource, sys
from axnb.substrate.bodies import read_body
file, path = sys.argv[1:]
chunks = (lambda f: iter(lambda: f.read(1 << 16), b""))(open(path, "rb"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
body = read_body(file, chunks)
print(body.content, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def hostile(name: str) -> tuple[str, bytes]:
    if name == "global records":
        about = tarfile.TarInfo("x")
        made = io.BytesIO()
        for number in range(100):
            record = b"".join(
                b"%d %s\n" % (4 + 1 + 996, b"%03d%03d=" % (number, n) + b"v" * 988)
                for n in range(999)
            )
            about.type, about.size = tarfile.XGLTYPE, len(record)
            padded = record + bytes(-len(record) % 512)
            made.write(about.tobuf(tarfile.USTAR_FORMAT) + padded)
        return "durable-dir.tar", made.getvalue() + bytes(1024)
    if name == "head":
        text = json.dumps({"a": "\U0001f600" + "x" * ((1 << 20) - 100)}, ensure_ascii=False)
        raw = text.encode()
        return "checkpoint.img", b"gVisorSF" + struct.pack(">Q", len(raw)) + raw
    if name == "json":
        return "state.json", b'{"\\u0061":"\xf0\x9f\x98\x80' + b"x" * ((1 << 20) - 99) + b'"}'
    return "pages_meta.img", BOMBS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BOMBS, "head", "json"])
def test_memory_is_bounded_whatever_the_content(name: str, tmp_path: object) -> None:
    file, data = hostile(name)
    path = f"{tmp_path}/object"
    with open(path, "wb") as out:
        out.write(plain(data))
    command = [sys.executable, "-c", _MEASURE, file, path]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    _, grown = told.stdout.split()
    assert int(grown) < 64


def test_a_body_is_what_the_decoder_says_and_more() -> None:
    encoded = objects.case("b3b-data").encoded("multitar.img")
    body, decoded = read_body("multitar.img", encoded), read(encoded)
    assert isinstance(body, Body)
    assert all(getattr(body, name) == value for name, value in vars(decoded).items())
