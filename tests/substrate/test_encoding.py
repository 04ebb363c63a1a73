"""Objects of Substrate are read strictly: the restored file or the reason, never another file."""

from __future__ import annotations

import contextlib
import hashlib
import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from axnb.substrate.encoding import (
    ObjectReader,
    Piece,
    extents,
    read,
    restored,
    write_plain,
    write_sparse,
)
from axnb.substrate.errors import ObjectError
from axnb.substrate.frames import Limits
from tests.substrate import objects

FRAME = bytes.fromhex("28b52ffd")


def plain(data: bytes, **options: int | bool) -> bytes:
    return b"".join(write_plain([data], **options))  # type: ignore[arg-type]


def sparse(size: int, *parts: tuple[int, bytes], **options: int | bool) -> bytes:
    return b"".join(write_sparse(size, parts, **options))  # type: ignore[arg-type]


def stream(*numbers: int, data: bytes = b"") -> bytes:
    """A sparse object whose stream is these numbers and then these bytes."""
    inner = b"".join(struct.pack("<q", number) for number in numbers) + data
    return b"ATESPRSE" + struct.pack("<I", 2) + plain(inner)


def content(encoded: bytes) -> bytes:
    return b"".join(restored(ObjectReader(encoded)))


def refusal(encoded: bytes, limits: Limits | None = None) -> str:
    with pytest.raises(ObjectError) as refused:
        read(encoded, limits or Limits())
    assert 0 <= refused.value.offset <= len(encoded)
    return refused.value.reason


# --- what Substrate wrote ------------------------------------------------------------------------


def files(case: objects.Case) -> Iterator[tuple[str, dict[str, object], bytes]]:
    """(key, what Substrate restored of it, its bytes) of each file that it restored."""
    found = case.objects
    for prefix, restore in case.restores.items():
        for file in restore.get("restored_files") or ():
            key = f"{prefix}/{file['name']}.zstd"
            if key in found:
                yield key, file, found[key]


@pytest.mark.parametrize("case", objects.good_cases(), ids=lambda case: case.name)
def test_good_objects_restore_to_what_substrate_restores(case: objects.Case) -> None:
    abouts = {about["key"]: about for about in case.truth["objects"]}
    for key, file, encoded in files(case):
        decoded = read(encoded)
        assert (decoded.size, decoded.sha256) == (file["size"], file["sha256"]), key
        about = abouts[key]
        assert decoded.encoded_sha256 == about["sha256"]
        assert decoded.encoded_size == about["size"]
        assert decoded.frames == about["zstd_frames"]
        assert {"plain": "plain zstd", "sparse": "sparse v2"}[decoded.encoding] == about["encoding"]
        assert decoded.remarks == ()


@pytest.mark.parametrize("case", objects.good_cases(), ids=lambda case: case.name)
def test_every_object_of_a_good_case_is_read(case: objects.Case) -> None:
    for key, encoded in case.objects.items():
        if key.endswith(".zstd"):
            read(encoded)


#: What the decoder says of the object that was damaged.
REFUSALS = {
    "empty-object": "empty",
    "flip-in-checksum": "checksum",
    "flip-in-frame": "checksum",
    "flip-in-magic": "magic",
    "trailing-bytes": "trailing-bytes",
    "truncated-checksum": "truncated",
    "truncated-half": "truncated",
    "no-end-marker": "truncated",
    "declared-size-too-small": "extent-outside",
    "version-3": "version",
}

#: Nothing in the bytes of an object tells of these: a size that was raised ends in a hole, and
#: another file's object is a sound object.
UNSEEN = ("declared-size-larger", "size-mismatch-other-object")


def wound(case: objects.Case) -> str:
    words = (*REFUSALS, *UNSEEN)
    return next((word for word in words if case.name.endswith(word)), "")


@pytest.mark.parametrize("case", objects.damaged_cases(), ids=lambda case: case.name)
def test_damaged_objects_are_refused(case: objects.Case) -> None:
    refused = {}
    for key, encoded in case.objects.items():
        if key.endswith(".zstd"):
            try:
                read(encoded)
            except ObjectError as err:
                refused[key.rsplit("/", 1)[1]] = err.reason
    file = case.damage.split(" ")[0].rstrip(":")
    expected = REFUSALS.get(wound(case))
    if expected is None:
        assert refused == {}
    else:
        assert list(refused) == [file]
        assert refused[file] in {expected, "corrupt" if expected == "checksum" else expected}


def test_a_raised_size_reads_as_a_longer_file() -> None:
    good = read(objects.case("b3b-data").encoded("multitar.img"))
    raised = read(objects.case("damaged-b3b-data-declared-size-larger").encoded("multitar.img"))
    assert raised.size == good.size + 4096
    assert raised.holes == good.holes + 4096
    assert raised.sha256 != good.sha256


def test_another_object_in_place_reads_as_that_object() -> None:
    swapped = objects.case("damaged-b3b-data-size-mismatch-other-object")
    assert swapped.encoded("multitar.img") == swapped.encoded("pages.img")
    assert read(swapped.encoded("multitar.img")) == read(swapped.encoded("pages.img"))


# --- every truncation, every flipped bit ---------------------------------------------------------


def small_objects() -> dict[str, bytes]:
    data = bytes(range(256)) + bytes(200) + b"state"
    return {
        "plain": objects.case("b0-small").encoded("pages_meta.img"),
        "sparse": objects.case("b3b-data").encoded("multitar.img"),
        "plain, several frames": plain(data, frame_size=100),
        "sparse, several frames": sparse(9000, (0, data), (4096, data), frame_size=100),
        "nothing": plain(b""),
        "nothing, sparse": sparse(0),
    }


SMALL = pytest.mark.parametrize("encoded", small_objects().values(), ids=list(small_objects()))


@SMALL
def test_every_truncation_is_refused(encoded: bytes) -> None:
    ends = set()
    if encoded.startswith(FRAME):
        # Where a frame ends, an object of several frames is a whole object of fewer.
        position = 0
        while position < len(encoded):
            decoder = zstandard.ZstdDecompressor().decompressobj()
            decoder.decompress(encoded[position:])
            position = len(encoded) - len(decoder.unused_data)
            ends.add(position)
    for length in set(range(len(encoded))) - ends:
        assert refusal(encoded[:length]) == ("truncated" if length else "empty")


@SMALL
def test_no_flipped_bit_changes_the_file(encoded: bytes) -> None:
    whole, unseen = content(encoded), 0
    for position in range(len(encoded)):
        for bit in range(8):
            flipped = bytearray(encoded)
            flipped[position] ^= 1 << bit
            try:
                decoded = read(bytes(flipped))
            except ObjectError:
                continue
            # A few bits (of a frame's memory, of a code's spelling) change nothing that is read.
            assert decoded.sha256 == hashlib.sha256(whole).hexdigest(), (position, bit)
            unseen += 1
    assert unseen * 20 < len(encoded) * 8


@pytest.mark.parametrize(
    "sweep", objects.sweeps(), ids=lambda s: f"{s['case']}@{s['reader_build']}"
)
def test_what_substrate_takes_for_another_file_is_refused(sweep: dict[str, object]) -> None:
    """Substrate's own reader accepted these truncations, with wrong content."""
    file = str(sweep["object"]).rsplit("/", 1)[1].removesuffix(".zstd")
    encoded = objects.case(str(sweep["case"])).encoded(file)
    cut = sweep["truncations"]
    assert isinstance(cut, dict)
    for length in cut.get("accepted_wrong_positions", ()):
        refusal(encoded[:length])


# --- hostile objects -----------------------------------------------------------------------------


def checksum_less(data: bytes) -> bytes:
    return plain(data, checksum=False)


@pytest.mark.parametrize(
    ("encoded", "reason"),
    [
        (b"", "empty"),
        (b"ATESP", "truncated"),
        (b"ATESPRSE", "truncated"),
        (b"ATESPRSE\x02\0\0", "truncated"),
        (b"ATESPRSE\x02\0\0\0", "truncated"),
        (b"ATESPRSE" + struct.pack("<I", 1) + plain(bytes(16)), "version"),
        (b"ATESPRSE" + struct.pack("<I", 3) + plain(bytes(16)), "version"),
        (b"ATESPRSF" + struct.pack("<I", 2) + plain(bytes(16)), "magic"),
        (FRAME[:2], "truncated"),
        (b"PK\3\4" + bytes(99), "magic"),
        (b"\0", "magic"),
        (FRAME + b"\x08\x58\x01\0\0", "corrupt"),
        (FRAME + b"\x10\x58\x01\0\0", "corrupt"),
        (FRAME + b"\x00\x58" + struct.pack("<I", (1 << 21) - 1 << 3 | 1)[:3], "corrupt"),
        (FRAME + b"\x00\x58\x07\0\0", "corrupt"),
        (FRAME + b"\x00\x90\x01\0\0", "window"),
        (FRAME + b"\xe0" + struct.pack("<Q", 1 << 60) + b"\x01\0\0", "window"),
        (FRAME + b"\x20\x05\x01\0\0", "corrupt"),
        (FRAME + b"\x20\x05\x20\0\0abcd\x01\0\0", "corrupt"),
        (FRAME + b"\x20\x03\x20\0\0abcd\x01\0\0", "corrupt"),
        (FRAME + b"\x60\x00\x00\x21\0\0abcd", "corrupt"),
        (plain(b"a") + b"\0", "trailing-bytes"),
        (plain(b"a") + FRAME, "truncated"),
        (b"\x50\x2a\x4d\x18\4\0\0\0abcd", "truncated"),
        (stream(-5, -1), "bad-size"),
        (stream(-1), "bad-size"),
        (stream(10), "truncated"),
        (stream(10, 0), "truncated"),
        (stream(10, 0, 5, data=b"abc"), "truncated"),
        (stream(10, 0, 11), "extent-outside"),
        (stream(10, 8, 3), "extent-outside"),
        (stream(10, 11, 0), "extent-outside"),
        (stream(10, -2, 3), "extent-outside"),
        (stream(10, 0, -1), "extent-outside"),
        (stream(1 << 40, -1), "too-large"),
        (sparse(10, (4, b"ab"), (0, b"cd")), "extent-order"),
        (sparse(10, (0, b"abcd"), (2, b"cd")), "extent-order"),
        (stream(0, -1, -1), "trailing-bytes"),
        (stream(0, -1, data=b"x"), "trailing-bytes"),
        (sparse(3, (0, b"abc")) + plain(b"x"), "trailing-bytes"),
        (sparse(3, (0, b"abc")) + b"trailing garbage", "trailing-bytes"),
    ],
)
def test_hostile_objects_are_refused(encoded: bytes, reason: str) -> None:
    assert refusal(encoded) == reason


def test_an_extent_without_bytes_is_nothing() -> None:
    assert content(sparse(4, (0, b""), (2, b"ab"), (4, b""))) == b"\0\0ab"


def test_a_size_that_a_frame_declares_is_held() -> None:
    raw = struct.pack("<I", 256 << 3 | 1)[:3] + bytes(256)
    assert content(FRAME + b"\x60\x00\x00" + raw) == bytes(256)
    assert content(FRAME + b"\x20\x04\x20\0\0abcd\x01\0\0") == b"abcd"
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(b"ab" * 300_000)
    assert content(frame) == b"ab" * 300_000


def test_a_frame_without_checksum_is_a_remark() -> None:
    assert read(checksum_less(b"abc")).remarks == ("no-checksum",)
    assert read(plain(b"abc") + checksum_less(b"abc")).remarks == ("no-checksum",)
    assert read(sparse(3, (0, b"abc"), checksum=False)).remarks == ("no-checksum",)


def test_a_skippable_frame_is_a_remark() -> None:
    skippable = b"\x5f\x2a\x4d\x18" + struct.pack("<I", 4) + b"note"
    decoded = read(skippable + plain(b"abc") + skippable)
    assert decoded.remarks == ("skippable-frame",)
    assert decoded.sha256 == hashlib.sha256(b"abc").hexdigest()


def test_limits_on_size_and_ratio() -> None:
    zeros = plain(bytes(10 << 20))
    assert refusal(zeros, Limits(max_size=1 << 20)) == "too-large"
    assert refusal(zeros, Limits(free_size=1 << 20)) == "ratio"
    assert refusal(sparse(2 << 20), Limits(max_size=1 << 20)) == "too-large"
    assert read(sparse(2 << 20), Limits(free_size=1)).holes == 2 << 20


@pytest.mark.parametrize("step", [1, 3, 4096])
def test_chunks_of_any_length(step: int) -> None:
    encoded = sparse(100_000, (5, b"ab" * 999), (50_000, bytes(range(256)) * 99), frame_size=7000)
    chunks = (encoded[start : start + step] for start in range(0, len(encoded), step))
    assert read(chunks) == read(encoded)


def test_errors_hold_nothing_of_the_object() -> None:
    with pytest.raises(ObjectError) as refused:
        read(plain(b"a") + b"secret-token-0001")
    assert "secret" not in str(refused.value)


# --- round trips ---------------------------------------------------------------------------------

BLOCKS = st.lists(st.sampled_from([bytes(4096), b"\1" * 4096, b"abc" * 50, b"\0"]), max_size=12)
FRAME_SIZE = st.one_of(st.none(), st.integers(1, 9000))


@given(data=st.one_of(st.binary(max_size=2000), BLOCKS.map(b"".join)), frame_size=FRAME_SIZE)
@settings(max_examples=200, deadline=None)
def test_what_is_written_plain_is_read(data: bytes, frame_size: int | None) -> None:
    if frame_size is not None and frame_size < 100:
        data = data[:500]
    encoded = b"".join(write_plain([data], frame_size=frame_size))
    assert content(encoded) == data
    assert read(encoded).remarks == ()


@given(data=BLOCKS.map(b"".join), frame_size=st.one_of(st.none(), st.integers(200, 9000)))
@settings(max_examples=200, deadline=None)
def test_what_is_written_sparse_is_read(data: bytes, frame_size: int | None) -> None:
    encoded = b"".join(write_sparse(len(data), extents(data), frame_size=frame_size))
    reader = ObjectReader(encoded)
    pieces = list(reader)
    assert b"".join(restored(pieces)) == data
    assert reader.size == len(data)
    assert [piece.offset for piece in pieces] == _starts(pieces)
    assert all(piece.length > 0 for piece in pieces)


def _starts(pieces: list[Piece]) -> list[int]:
    """Where each piece starts if none leaves a gap."""
    starts, end = [], 0
    for piece in pieces:
        starts.append(end)
        end += piece.length
    return starts


@given(st.binary(max_size=300), st.sampled_from([b"", FRAME, b"ATESPRSE\2\0\0\0" + FRAME]))
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes, start: bytes) -> None:
    with contextlib.suppress(ObjectError):
        read(start + data)


# --- cost ----------------------------------------------------------------------------------------

_MEASURE = """
import resource, sys
from axnb.substrate.encoding import read, {write}
def chunks():
    for _ in range(512 * 16):
        yield bytes(1 << 16)
source = {expression}
encoded = b"".join(source)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
decoded = read(encoded)
assert decoded.size >= 512 << 20, decoded
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "expression"),
    [
        ("write_plain", "write_plain(chunks())"),
        ("write_plain", "write_plain(chunks(), frame_size=8 << 20)"),
        (
            "write_sparse",
            "write_sparse(1 << 30, ((n << 16, c) for n, c in enumerate(chunks())))",
        ),
    ],
)
def test_memory_is_bounded(write: str, expression: str) -> None:
    """512 MiB of zeros in a new process; its peak grows by less than 64 MiB."""
    code = _MEASURE.format(write=write, expression=expression)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 64


@pytest.mark.slow
def test_the_largest_window_stays_within_the_bound() -> None:
    """A frame that asks for all the memory a frame may ask for."""
    code = """
import resource, zstandard, os
from axnb.substrate.encoding import read
parameters = zstandard.ZstdCompressionParameters(window_log=25, write_checksum=True)
frame = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
encoded = b"".join([frame.compress(os.urandom(1 << 20)) for _ in range(96)] + [frame.flush()])
# The child measures itself anew.
if not os.fork():
    chunks = (encoded[n : n + 65536] for n in range(0, len(encoded), 65536))
    def peak(): return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])
    from axnb.substrate.encoding import ObjectReader
    start, top = peak(), 0
    for n, _ in enumerate(ObjectReader(chunks)):
        if n % 50 == 0: top = max(top, peak())
    print((top - start) // 1024, flush=True)
    os._exit(0)
os.wait()
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 64
