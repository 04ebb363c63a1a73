"""`pages_meta.img`: the map of what `pages.img` holds, in the two forms that runsc wrote.

A map is the accounting of one memory file of gVisor: ranges, each with whether its pages are known
to be committed. Those that are, and no others, lie in `pages.img`, range after range, the main
memory file's first; so the sum of their lengths is the size of `pages.img`. It is, to the byte, of
everything that runsc wrote here, full and data checkpoints, with builds of June and of September
2026. Sources: google/gvisor, pkg/sentry/pgalloc (save_restore.go, pgalloc.proto), pkg/state/wire.

wire       `pgalloc.memoryFileSaved` objects of gVisor's state format; between the first and the
           others one `kernel.privateMemoryFileMetadata`, which names the owners of the others
protobuf   u64 little-endian length and a message `MemoryFileMetadataProto`, likewise; the owners
           are an object of the state format here too
"""

from __future__ import annotations

from dataclasses import dataclass

from axnb.substrate.errors import RefusedError
from axnb.substrate.protobuf import fields, varints
from axnb.substrate.statewire import List, Stream, Struct, Value, is_stream

#: Real ones have about 15 bytes a range; of a larger one nothing is said.
MAX_SIZE = 1 << 19

_SAVED = "pkg/sentry/pgalloc.memoryFileSaved"
_SEGMENT = "pkg/sentry/pgalloc.memAcctFlatSegment"
_OWNERS = "pkg/sentry/kernel.privateMemoryFileMetadata"

#: `MemoryFileMetadataProto`: version 1, chunks 2, mem_acct 3, ranges 4 to 7, a map 8,
#: content_external 9.
_VERSION, _ACCOUNT, _EXTERNAL, _LAST = 1, 3, 9, 9


@dataclass(frozen=True)
class PageMap:
    """What a `pages_meta.img` says."""

    #: Bytes of `pages.img`; None where its pages lie elsewhere.
    pages_size: int | None


def parse(data: bytes) -> PageMap | None:
    """Parse a whole `pages_meta.img`; None where it is in no form that is known, to its end."""
    if len(data) > MAX_SIZE:
        return None
    try:
        return _parse(data)
    except RefusedError:
        return None


def _parse(data: bytes) -> PageMap | None:
    position = total = 0
    is_elsewhere = False
    while position < len(data):
        committed: int | None
        if is_stream(data, position):
            stream = Stream(data, position)
            committed = _of_stream(stream, is_first=position == 0)
            position = stream.position
        else:
            length = int.from_bytes(data[position : position + 8], "little")
            message = data[position + 8 : position + 8 + length]
            if not length or len(message) < length:
                return None
            committed = _of_message(message)
            position += 8 + length
        is_elsewhere = is_elsewhere or committed is None
        total += committed or 0
    if not data:
        return None
    return PageMap(None if is_elsewhere else total)


def _of_message(message: bytes) -> int | None:
    """Committed bytes of a memory file; None if its pages are saved elsewhere."""
    total, version, is_external = 0, 0, False
    for number, _, value in fields(message):
        if number > _LAST:
            raise RefusedError("unknown-form")
        if number == _VERSION and isinstance(value, int):
            version = value
        elif number == _EXTERNAL:
            is_external = bool(value)
        elif number == _ACCOUNT and isinstance(value, bytes):
            about = varints(value)
            if about.get(5):
                total += _length(about.get(1, 0), about.get(2, 0))
    if version != 1:
        raise RefusedError("unknown-form")
    return None if is_external else total


def _of_stream(stream: Stream, *, is_first: bool) -> int:
    """Committed bytes of the memory file in a stream of the state format, if it is one."""
    objects = list(stream.objects())
    root = objects[0] if objects else None
    name = stream.name(root) if isinstance(root, Struct) else ""
    if name == _OWNERS and not is_first:
        return 0
    if name != _SAVED:
        raise RefusedError("unknown-form")
    return sum(
        _committed(stream, segment)
        for found in objects
        if isinstance(found, List)
        for segment in found
        if isinstance(segment, Struct) and stream.name(segment) == _SEGMENT
    )


def _committed(stream: Stream, segment: Struct) -> int:
    about = stream.fields(segment)
    value = about.get("Value")
    if not isinstance(value, Struct) or not stream.fields(value).get("knownCommitted"):
        return 0
    return _length(_number(about.get("Start")), _number(about.get("End")))


def _number(value: Value) -> int:
    """A number, of which the state format leaves out a zero."""
    if value is None:
        return 0
    if not isinstance(value, int):
        raise RefusedError("unknown-form")
    return value


def _length(start: int, end: int) -> int:
    if end <= start:
        raise RefusedError("unknown-form")
    return end - start
