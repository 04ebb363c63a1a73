"""Look at the raw rows before DuckDB does: digests, and what its JSON reader is too kind about.

DuckDB's JSON reader accepts NaN, numbers that overflow a double and duplicate keys, and AX does
not. In the fixed part of a row the fast path notices them by itself; inside the free-form objects
(arguments, results, configuration) only a look at each of them helps. It is taken here, in one
pass, on the text itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import Context, InvalidOperation, Overflow
from itertools import pairwise
from typing import Any, NoReturn

import pyarrow as pa

#: What the screen hands on; `payload` is valid UTF-8 text.
#:
#: `screened` is negative where something stands against the fast path. Else it is twice the number
#: of free-form objects that were checked, plus one if the whole document was checked, since it is
#: not spelled as AX spells it.
SCHEMA = pa.schema(
    [
        pa.field("row", pa.int64()),
        pa.field("conversation_id", pa.string()),
        pa.field("step", pa.int64()),
        pa.field("payload", pa.string()),
        pa.field("digest", pa.binary(32)),
        pa.field("screened", pa.int32()),
    ]
)


class Screen:
    """One pass over the batches of a source; `set_aside` fills as the reader is drained."""

    def __init__(self) -> None:
        #: Rows that are not valid UTF-8: they cannot travel as text, and are read one by one.
        self.set_aside: list[int] = []

    def reader(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
        """Add digest and verdict to batches of (row, conversation_id, step, payload).

        Ids and payloads come as text or as bytes.
        """
        return pa.RecordBatchReader.from_batches(SCHEMA, (self._screen(b) for b in batches))

    def _screen(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            conversation_id, payload = _as_text(batch, 1), _as_text(batch, 3)
        except pa.ArrowInvalid:
            batch = self._only_text(batch)
            conversation_id, payload = _as_text(batch, 1), _as_text(batch, 3)
        raws = _pieces(batch.column(3).cast(pa.binary()))
        sha256 = hashlib.sha256
        digests = b"".join([sha256(raw).digest() for raw in raws])
        return pa.RecordBatch.from_arrays(
            [
                batch.column(0).cast(pa.int64()),
                conversation_id,
                batch.column(2).cast(pa.int64()),
                payload,
                pa.FixedSizeBinaryArray.from_buffers(
                    pa.binary(32), len(raws), [None, pa.py_buffer(digests)]
                ),
                pa.array([_screen_row(raw) for raw in raws], pa.int32()),
            ],
            schema=SCHEMA,
        )

    def _only_text(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        keep = []
        columns = [batch.column(0), *(batch.column(n).cast(pa.binary()) for n in (1, 3))]
        for row, *values in zip(*(column.to_pylist() for column in columns), strict=True):
            is_text = all(_is_utf8(value) for value in values)
            keep.append(is_text)
            if not is_text:
                self.set_aside.append(row)
        return batch.filter(pa.array(keep))


def _as_text(batch: pa.RecordBatch, column: int) -> pa.Array:
    """A column of bytes as text, without a copy; ArrowInvalid if it is not UTF-8."""
    return batch.column(column).cast(pa.binary()).cast(pa.string())


def _pieces(column: pa.Array) -> list[bytes]:
    """The values of a binary column without NULLs: cut from one buffer, five times as fast as
    `to_pylist`."""
    first, last = column.offset, column.offset + len(column)
    _, offsets, data = column.buffers()
    ends = memoryview(offsets).cast("i")[first : last + 1].tolist()
    whole = data.to_pybytes() if data is not None else b""
    return [whole[start:end] for start, end in pairwise(ends)]


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


_REFUSED = -1

#: Bytes at the start of a row in which its ids and the key of its configuration stand.
_HEAD = 512

#: How every row begins that AX wrote.
_USUAL_START = b'{"conversation_id":"'


def _screen_row(raw: bytes) -> int:
    """The value of `screened` for one row.

    A NUL escape goes the careful way: DuckDB would show it as six characters.
    """
    if b"\\" in raw and b"\\u0000" in raw:
        return _REFUSED
    try:
        if not raw.startswith(_USUAL_START):
            return _whole(raw.decode())
        checked = 0
        # Free-form objects stand inside a call or a result, or are a configuration.
        at = raw.find(b'"function_')
        if at >= 0:
            text = raw.decode()
            for key in ('"arguments":', '"struct_value":', '"response":'):
                checked += _checked(text, key)
        # AX writes the configuration before the content; one that stands elsewhere is not counted
        # here, and the fast path notices that.
        if raw.find(b'_config":', 0, _HEAD) >= 0:
            checked += _checked(raw.decode(), '_config":')
        return 2 * checked
    except (ValueError, StopIteration, RecursionError, Overflow, InvalidOperation):
        return _REFUSED


def _whole(text: str) -> int:
    """Check a whole document, and count the free-form objects in it."""
    _, end = _scan(text, 0)
    if text[end:].strip(" \t\r\n"):
        return _REFUSED
    keys = ('"arguments":', '"struct_value":', '"response":', '_config":')
    return 2 * sum(text.count(key) for key in keys) + 1


def _checked(text: str, key: str) -> int:
    """How many objects stand under `key`, each of them checked.

    What follows the key must follow it at once, as AX writes it. A key inside a text has its quotes
    escaped, so it is not taken for one.
    """
    count = 0
    at = text.find(key)
    while at >= 0:
        _, end = _scan(text, at + len(key))
        count += 1
        at = text.find(key, end)
    return count


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise ValueError


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _fraction(digits: str) -> None:
    """Refuse a number that DuckDB would spell in another length: the fast path measures lengths."""
    if repr(float(digits)) != digits or "e" in digits:
        raise ValueError


def _whole_number(digits: str) -> None:
    """Refuse what DuckDB would spell otherwise, and what may overflow a double: the careful path
    knows the limit."""
    if digits == "-0":
        raise ValueError
    _decimal(digits)


_decimal = Context(prec=20, Emax=307, traps=[Overflow, InvalidOperation]).create_decimal
_scan = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_fraction,
    parse_int=_whole_number,
    parse_constant=_refuse,
).scan_once  # type: ignore[attr-defined]
