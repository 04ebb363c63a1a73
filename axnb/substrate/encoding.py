"""`<file>.zstd` objects: how Substrate encodes a snapshot's file, read strictly, and written.

Plain: zstd frames, one after the other. Sparse (since 2026-06-25): `ATESPRSE`, u32 version 2, then
zstd frames of i64 size, {i64 offset, i64 length, bytes}*, i64 -1, all little-endian. The name does
not tell which; the first bytes do.

Substrate's own reader is lenient: since 2026-06-25 it takes every truncation of a plain object for
a shorter file and an empty object for an empty one, stops at the end marker without a look behind
it, and writes each extent where it says, also over another. This reader refuses all of that. What
no decoder can see from the bytes alone, `bodies` and `cross` look for: another valid object in this
one's place, and a size in a sparse stream that was raised.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import zstandard

from axnb.substrate.errors import ObjectError
from axnb.substrate.frames import (
    DEFAULT_LIMITS,
    FrameCount,
    Input,
    Limits,
    decoded_blocks,
)

SPARSE_MAGIC = b"ATESPRSE"
SPARSE_VERSION = 2
_END = -1

Encoding = Literal["plain", "sparse"]

_ZEROS = bytes(1 << 16)

_NUMBER = struct.Struct("<q")


class Piece(NamedTuple):
    """A stretch of a restored file: bytes, or a hole (`data` is None) that reads as zeros."""

    offset: int
    length: int
    data: bytes | None


@dataclass(frozen=True)
class Decoded:
    """A whole object that was read to its end and is sound."""

    encoding: Encoding
    #: Bytes of the object, and their digest in hex.
    encoded_size: int
    encoded_sha256: str
    #: Bytes of the restored file, holes included, and its digest in hex.
    size: int
    sha256: str
    #: Bytes in holes.
    holes: int
    frames: int
    #: `no-checksum` (a frame without one: a flipped bit may go unseen), `skippable-frame`.
    remarks: tuple[str, ...]


class ObjectReader:
    """Iterate, once, over the pieces of the file that an object restores to, without gaps.

    `source` is the object's bytes, in chunks of any length. Pieces hold 512 KiB at most (holes any
    length); memory stays below 64 MiB. Iteration raises ObjectError; what it yielded before is
    proved only once it has ended without one. `size`, `encoding` and `remarks` are known then.
    """

    def __init__(self, source: Iterable[bytes] | bytes, limits: Limits = DEFAULT_LIMITS) -> None:
        self._input = Input(source)
        self._limits = limits
        self._count = FrameCount()
        self.encoding: Encoding = "plain"
        self.size = 0

    def __iter__(self) -> Iterator[Piece]:
        start = self._input.peek(len(SPARSE_MAGIC))
        if not start:
            raise ObjectError("empty", 0, "an object without a byte")
        if start == SPARSE_MAGIC:
            self.encoding = "sparse"
            return self._sparse()
        if len(start) < len(SPARSE_MAGIC) and SPARSE_MAGIC.startswith(start):
            raise ObjectError("truncated", len(start), "the object ends in its magic number")
        return self._plain()

    @property
    def encoded_size(self) -> int:
        """Bytes of the object that were read."""
        return self._input.offset

    @property
    def frames(self) -> int:
        """Frames that ended."""
        return self._count.frames

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is odd and no damage."""
        found = []
        if self._count.without_checksum:
            found.append("no-checksum")
        if self._count.skippable:
            found.append("skippable-frame")
        return tuple(found)

    def _blocks(self) -> Iterator[bytes]:
        return decoded_blocks(self._input, self._limits, self._count)

    def _plain(self) -> Iterator[Piece]:
        for block in self._blocks():
            yield Piece(self.size, len(block), block)
            self.size += len(block)
        if not self._count.frames:
            raise ObjectError("truncated", self._input.offset, "no frame in the object")

    def _sparse(self) -> Iterator[Piece]:
        (version,) = struct.unpack("<I", self._input.take(12)[8:])
        if version != SPARSE_VERSION:
            raise ObjectError("version", 8, f"sparse format {version}, known is {SPARSE_VERSION}")
        stream = _Stream(self._blocks(), self._input)
        self.size = stream.number()
        if self.size < 0:
            raise self._refused("bad-size", f"{self.size} bytes")
        if self.size > self._limits.max_size:
            raise self._refused("too-large", f"{self.size} bytes")
        end = 0
        while (offset := stream.number()) != _END:
            length = stream.number()
            self._check_extent(offset, length, end)
            if offset > end:
                yield Piece(end, offset - end, None)
            end = offset + length
            while offset < end:
                data = stream.some(end - offset)
                yield Piece(offset, len(data), data)
                offset += len(data)
        if not stream.is_at_end():
            raise self._refused("trailing-bytes", "data after the end marker")
        if end < self.size:
            yield Piece(end, self.size - end, None)

    def _check_extent(self, offset: int, length: int, end: int) -> None:
        if not 0 <= offset <= self.size or not 0 <= length <= self.size - offset:
            raise self._refused("extent-outside", f"{offset}+{length} of {self.size} bytes")
        if offset < end:
            # Substrate writes it over what came before.
            raise self._refused("extent-order", f"{offset} after {end}")

    def _refused(self, reason: str, detail: str) -> ObjectError:
        return ObjectError(reason, self._input.offset, detail)


class _Stream:
    """Decoded bytes of a sparse object, as many as are asked for."""

    def __init__(self, blocks: Iterator[bytes], data: Input) -> None:
        self._blocks = blocks
        self._block = b""
        self._position = 0
        self._input = data

    def number(self) -> int:
        """A signed number of 64 bits."""
        end = self._position + 8
        if end <= len(self._block):
            (value,) = _NUMBER.unpack_from(self._block, self._position)
            self._position = end
            return int(value)
        raw = b""
        while len(raw) < 8:
            raw += self.some(8 - len(raw))
        return int.from_bytes(raw, "little", signed=True)

    def some(self, most: int) -> bytes:
        """At least one byte and at most `most`."""
        if self.is_at_end():
            raise ObjectError("truncated", self._input.offset, "the stream has no end marker")
        data = self._block[self._position : self._position + most]
        self._position += len(data)
        return data

    def is_at_end(self) -> bool:
        """Is nothing left? Reads on to the end of the object's frames if need be."""
        if self._position == len(self._block):
            self._block = next(self._blocks, b"")
            self._position = 0
        return not self._block


class Digester:
    """SHA-256 of a restored file, piece by piece, holes as zeros.

    Small pieces are put together first: threads that hash hold each other up at each call.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._held: list[bytes | memoryview] = []
        self._size = 0

    def add(self, piece: Piece) -> None:
        """Go on with a piece."""
        data, length = piece.data, piece.length
        if length < _SMALL:
            self._held.append(_HOLE[:length] if data is None else data)
            self._size += length
            if self._size >= _SMALL:
                self._flush()
            return
        self._flush()
        if data is not None:
            self._hash.update(data)
            return
        whole, rest = divmod(length, len(_HOLE))
        for _ in range(whole):
            self._hash.update(_HOLE)
        self._hash.update(_HOLE[:rest])

    def hexdigest(self) -> str:
        """The digest so far."""
        self._flush()
        return self._hash.hexdigest()

    def _flush(self) -> None:
        if self._held:
            self._hash.update(b"".join(self._held))
            self._held, self._size = [], 0


_SMALL = 1 << 17
_HOLE = memoryview(bytes(1 << 20))


class Passing:
    """The pieces of an object, once, as they pass: counted and hashed; an iterator.

    `digest` gives the digest of the encoded bytes, where who hands them on has it anyway; it is
    asked at the end. Iteration raises ObjectError.
    """

    def __init__(
        self,
        source: Iterable[bytes] | bytes,
        limits: Limits = DEFAULT_LIMITS,
        digest: Callable[[], str] | None = None,
    ) -> None:
        self._hash = hashlib.sha256()
        self._digest = digest or self._hash.hexdigest
        self.reader = ObjectReader(source if digest else self._hashed(source), limits)
        self._pieces = iter(self.reader)
        self._restored = Digester()
        self._holes = 0

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        piece = next(self._pieces)
        self._restored.add(piece)
        if piece.data is None:
            self._holes += piece.length
        return piece

    def decoded(self) -> Decoded:
        """What is known once the iteration has ended."""
        return Decoded(
            encoding=self.reader.encoding,
            encoded_size=self.reader.encoded_size,
            encoded_sha256=self._digest(),
            size=self.reader.size,
            sha256=self._restored.hexdigest(),
            holes=self._holes,
            frames=self.reader.frames,
            remarks=self.reader.remarks,
        )

    def _hashed(self, source: Iterable[bytes] | bytes) -> Iterator[bytes]:
        for chunk in (source,) if isinstance(source, bytes) else source:
            self._hash.update(chunk)
            yield chunk


def read(source: Iterable[bytes] | bytes, limits: Limits = DEFAULT_LIMITS) -> Decoded:
    """Read an object to its end; its digests. Raises ObjectError."""
    passing = Passing(source, limits)
    for _ in passing:
        continue
    return passing.decoded()


def restored(pieces: Iterable[Piece]) -> Iterator[bytes]:
    """The bytes of a restored file, holes as zeros, in chunks of 512 KiB at most."""
    for piece in pieces:
        yield from _bytes(piece)


def _bytes(piece: Piece) -> Iterator[bytes]:
    if piece.data is not None:
        yield piece.data
        return
    whole, rest = divmod(piece.length, len(_ZEROS))
    for _ in range(whole):
        yield _ZEROS
    if rest:
        yield _ZEROS[:rest]


# --- writing -------------------------------------------------------------------------------------


def write_plain(
    chunks: Iterable[bytes], *, frame_size: int | None = None, checksum: bool = True
) -> Iterator[bytes]:
    """Encode a file as Substrate did before 2026-06-25: zstd at the fastest level.

    `frame_size` begins a new frame after so many decoded bytes; without it there is one frame.
    Substrate's encoder always writes the checksum.
    """
    compressor = zstandard.ZstdCompressor(level=1, write_checksum=checksum)
    for part in _frames(chunks, frame_size):
        frame = compressor.compressobj()
        for chunk in part:
            yield frame.compress(chunk)
        yield frame.flush()


def _frames(chunks: Iterable[bytes], frame_size: int | None) -> Iterator[Iterator[bytes]]:
    """`chunks` in frames: one at least, so that an empty file is an object too."""
    if frame_size is None:
        yield iter(chunks)
        return
    held: list[bytes] = []
    room = frame_size
    for chunk in chunks:
        while len(chunk) > room:
            yield iter([*held, chunk[:room]])
            chunk, held, room = chunk[room:], [], frame_size
        held.append(chunk)
        room -= len(chunk)
    yield iter(held)


def write_sparse(
    size: int,
    extents: Iterable[tuple[int, bytes]],
    *,
    frame_size: int | None = None,
    checksum: bool = True,
    version: int = SPARSE_VERSION,
) -> Iterator[bytes]:
    """Encode a file of `size` bytes, of which `extents` are data and the rest is a hole.

    Extents are written as given; a reader refuses those that leave the file or go backwards.
    """
    yield SPARSE_MAGIC + struct.pack("<I", version)
    yield from write_plain(_sparse_stream(size, extents), frame_size=frame_size, checksum=checksum)


def _sparse_stream(size: int, extents: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    yield struct.pack("<q", size)
    for offset, data in extents:
        yield struct.pack("<qq", offset, len(data))
        yield data
    yield struct.pack("<q", _END)


def extents(data: bytes, block: int = 4096) -> Iterator[tuple[int, bytes]]:
    """What of a file is data: all of it but whole, aligned blocks of zeros."""
    zeros = bytes(block)
    start = None
    for offset in range(0, len(data), block):
        is_hole = data[offset : offset + block] == zeros
        if is_hole and start is not None:
            yield start, data[start:offset]
            start = None
        elif not is_hole and start is None:
            start = offset
    if start is not None:
        yield start, data[start:]
