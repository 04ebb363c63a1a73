"""Zstandard frames, strictly, a few blocks at a time: from encoded bytes to decoded ones.

The library decodes; the walk over frames and blocks is ours. So it is known where each frame ends,
whether it carries a checksum, and that it ended; and no step decodes more than four blocks of
128 KiB, however small the bytes that ask for more. Format: RFC 8878, section 3.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import zstandard

from axnb.substrate.errors import ObjectError

MAGIC = b"\x28\xb5\x2f\xfd"

_KIB, _MIB = 1 << 10, 1 << 20

#: A block holds and yields 128 KiB at most, by the format.
_MAX_BLOCK = 128 * _KIB

#: Blocks that are decoded in one step: fewer steps, and what they yield stays in a core's cache.
_BLOCKS = 4

#: Bytes that one step yields at most.
MAX_STEP = _BLOCKS * _MAX_BLOCK

#: Memory that a frame may ask for. Substrate's encoder asks for 4 MiB or 8 MiB.
MAX_WINDOW = 32 * _MIB

_RAW, _RLE, _COMPRESSED, _RESERVED = range(4)


@dataclass(frozen=True)
class Limits:
    """What an object may cost. Memory is bounded whatever it holds; these bound time and space."""

    #: Bytes of the restored file, holes included.
    max_size: int = 64 << 30
    #: Decoded bytes for one encoded byte, beyond `free_size`. Holes do not count.
    max_ratio: int = 2000
    #: Decoded bytes that no ratio is asked of: zeros legally shrink 30,000 times.
    free_size: int = 4 << 30


DEFAULT_LIMITS = Limits()


class Input:
    """The encoded bytes of an object, in chunks of any length, with the offset in it."""

    def __init__(self, source: Iterable[bytes] | bytes) -> None:
        chunks = (source,) if isinstance(source, bytes) else source
        self._chunks = iter(chunks)
        self._chunk = b""
        self._position = 0
        self.offset = 0

    def peek(self, length: int) -> bytes:
        """The next `length` bytes, fewer only at the end of the object."""
        held = len(self._chunk) - self._position
        if held < length:
            parts = [self._chunk[self._position :]]
            while held < length and (more := next(self._chunks, None)) is not None:
                parts.append(more)
                held += len(more)
            self._chunk, self._position = b"".join(parts), 0
        return self._chunk[self._position : self._position + length]

    def take(self, length: int) -> bytes:
        """Exactly `length` bytes; ObjectError `truncated` where the object ends before."""
        end = self._position + length
        if end <= len(self._chunk):
            data = self._chunk[self._position : end]
            self._position = end
        else:
            data = self._across(length)
        self.offset += len(data)
        if len(data) < length:
            raise ObjectError("truncated", self.offset, "the object ends in a frame")
        return data

    def take_blocks(self, most: int) -> tuple[memoryview, bool]:
        """Whole blocks of a frame that lie in the chunk at hand, `most` at most, and whether the
        last of them is the frame's. No block where the next one is not whole, or makes no sense.
        """
        chunk, start = self._chunk, self._position
        end, is_last = start, False
        while most and not is_last and end + 3 <= len(chunk):
            header = chunk[end] | chunk[end + 1] << 8 | chunk[end + 2] << 16
            kind, size = header >> 1 & 3, header >> 3
            after = end + 3 + (1 if kind == _RLE else size)
            if kind == _RESERVED or size > _MAX_BLOCK or after > len(chunk):
                break
            end, is_last, most = after, bool(header & 1), most - 1
        self._position = end
        self.offset += end - start
        return memoryview(chunk)[start:end], is_last

    def _across(self, length: int) -> bytes:
        """Take what lies in more than one chunk; of none of them more is copied than is asked."""
        parts = [self._chunk[self._position :]]
        length -= len(parts[0])
        self._chunk, self._position = b"", 0
        while length and (more := next(self._chunks, None)) is not None:
            parts.append(more[:length])
            self._chunk, self._position = more, len(parts[-1])
            length -= len(parts[-1])
        return b"".join(parts)


@dataclass
class FrameCount:
    """What was seen of frames so far."""

    frames: int = 0
    without_checksum: int = 0
    skippable: int = 0
    #: Decoded bytes, without holes.
    decoded: int = 0


@dataclass(frozen=True)
class _Header:
    raw: bytes
    window: int
    has_checksum: bool
    #: Bytes that the frame says it decodes to.
    declared: int | None


def decoded_blocks(data: Input, limits: Limits, count: FrameCount) -> Iterator[bytes]:
    """Yield what the frames of `data` decode to, `MAX_STEP` bytes at most at a time, to the end.

    What was yielded is proved only when the iteration ends: the checksum follows the frame's data.
    Raises ObjectError.
    """
    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
    while start := data.peek(4):
        if _is_skippable(start):
            _skip(data)
            count.skippable += 1
            continue
        if start != MAGIC:
            raise _no_frame(start, data.offset, count)
        for block in _frame(data, decompressor, count):
            count.decoded += len(block)
            _check(limits, count.decoded, data.offset)
            if block:
                yield block


def _no_frame(start: bytes, offset: int, count: FrameCount) -> ObjectError:
    if MAGIC.startswith(start):
        return ObjectError("truncated", offset, "the object ends in a frame's magic number")
    if count.frames:
        return ObjectError("trailing-bytes", offset, "what follows the last frame is no frame")
    return ObjectError("magic", offset, "neither zstd nor a sparse file of Substrate")


def _check(limits: Limits, decoded: int, offset: int) -> None:
    if decoded > limits.max_size:
        raise ObjectError("too-large", offset, f"more than {limits.max_size} bytes")
    if decoded > limits.free_size and decoded > limits.max_ratio * offset:
        raise ObjectError("ratio", offset, f"more than {limits.max_ratio} bytes from one")


def _frame(
    data: Input, decompressor: zstandard.ZstdDecompressor, count: FrameCount
) -> Iterator[bytes]:
    header = _header(data)
    decoder = decompressor.decompressobj()
    decoded = len(_decode(decoder, header.raw, data.offset))
    is_last = False
    while not is_last:
        blocks: bytes | memoryview
        blocks, is_last = data.take_blocks(_BLOCKS)
        if not blocks:
            # The next one lies in two chunks, or is not whole, or no block.
            blocks, is_last = _block(data)
        found = _decode(decoder, blocks, data.offset)
        decoded += len(found)
        yield found
    if header.has_checksum:
        decoded += len(_decode(decoder, data.take(4), data.offset))
    if not decoder.eof:
        raise ObjectError("corrupt", data.offset, "the frame's data do not end with its last block")
    if header.declared not in (None, decoded):
        # The library does not look where the last block is empty.
        raise ObjectError("corrupt", data.offset, "the frame has another size than it says")
    count.frames += 1
    count.without_checksum += not header.has_checksum


def _decode(
    decoder: zstandard.ZstdDecompressionObj, feed: bytes | memoryview, offset: int
) -> bytes:
    try:
        return decoder.decompress(feed)
    except zstandard.ZstdError as err:
        reason = "checksum" if "checksum" in str(err) else "corrupt"
        raise ObjectError(reason, offset, "the frame does not decode") from None


def _header(data: Input) -> _Header:
    """The frame's header; RFC 8878, 3.1.1.1."""
    raw = data.take(5)
    descriptor = raw[4]
    is_single = bool(descriptor & 0x20)
    if descriptor & 0x18:
        # 0x08 is reserved; 0x10 no encoder may set.
        raise ObjectError("corrupt", data.offset, "a reserved bit of the frame's header is set")
    window_length = 0 if is_single else 1
    id_length = (0, 1, 2, 4)[descriptor & 3]
    size_length = (1 if is_single else 0, 2, 4, 8)[descriptor >> 6]
    fields = data.take(window_length + id_length + size_length)
    declared = None
    if size_length:
        declared = int.from_bytes(fields[-size_length:], "little")
        declared += 256 if size_length == 2 else 0
    if is_single:
        window = declared or 0
    else:
        base = 1 << (10 + (fields[0] >> 3))
        window = base + (base >> 3) * (fields[0] & 7)
    if window > MAX_WINDOW:
        raise ObjectError("window", data.offset, f"a frame that needs {window} bytes of memory")
    return _Header(raw + fields, window, bool(descriptor & 4), declared)


def _block(data: Input) -> tuple[bytes, bool]:
    """The next block with its header, and whether it is the frame's last one."""
    raw = data.take(3)
    header = int.from_bytes(raw, "little")
    kind, size = header >> 1 & 3, header >> 3
    if kind == _RESERVED or size > _MAX_BLOCK:
        raise ObjectError("corrupt", data.offset, "a block's header makes no sense")
    return raw + data.take(1 if kind == _RLE else size), bool(header & 1)


def _is_skippable(start: bytes) -> bool:
    return len(start) == 4 and start[0] >> 4 == 5 and start[1:] == b"\x2a\x4d\x18"


def _skip(data: Input) -> None:
    data.take(4)
    (left,) = struct.unpack("<I", data.take(4))
    while left:
        left -= len(data.take(min(left, 64 * _KIB)))
