"""Messages of protobuf without their definition: numbers and values of fields, strictly."""

from __future__ import annotations

from collections.abc import Iterator

from axnb.substrate.errors import RefusedError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_FIXED = {FIXED64: 8, FIXED32: 4}


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field: an unsigned number of a varint, else bytes.

    Raises RefusedError `bad-protobuf`, for groups too, which nothing writes.
    """
    position = 0
    while position < len(data):
        tag, position = varint(data, position)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise RefusedError("bad-protobuf")
        if kind == VARINT:
            value, position = varint(data, position)
            yield number, kind, value
            continue
        size = _FIXED.get(kind)
        if kind == BYTES:
            size, position = varint(data, position)
        if size is None or position + size > len(data):
            raise RefusedError("bad-protobuf")
        yield number, kind, data[position : position + size]
        position += size


def varints(data: bytes) -> dict[int, int]:
    """The varints of a message; of a field that is there twice the last one counts."""
    return {n: v for n, _, v in fields(data) if isinstance(v, int)}


def varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned number of 64 bits and where the next byte is. RefusedError `bad-protobuf`."""
    value = 0
    for n, byte in enumerate(data[position : position + 10]):
        value |= (byte & 0x7F) << 7 * n
        if byte < 0x80:
            if value >> 64:
                break
            return value, position + n + 1
    raise RefusedError("bad-protobuf")
