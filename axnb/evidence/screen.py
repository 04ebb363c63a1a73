"""Look at the raw rows before DuckDB does: digests, and what its JSON reader is too kind about.

DuckDB's JSON reader accepts NaN, numbers that overflow a double and duplicate keys, and AX does
not. In the fixed part of a row the fast path notices them by itself; inside the free-form objects
(arguments, results, configuration) only a look at each of them helps. It is taken here, in one
pass, on the text itself.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

import pyarrow as pa

#: Keys under which AX stores objects of any shape, as they stand in a row that AX wrote.
_FREE_KEYS = ('"arguments":', '"response":', '"struct_value":', '_config":')

#: What the screen hands on; `payload` is valid UTF-8 text.
SCHEMA = pa.schema(
    [
        pa.field("row", pa.int64()),
        pa.field("conversation_id", pa.string()),
        pa.field("step", pa.int64()),
        pa.field("payload", pa.string()),
        pa.field("digest", pa.binary(32)),
        pa.field("plain", pa.bool_()),
        pa.field("loose", pa.bool_()),
        pa.field("free_objects", pa.int32()),
    ]
)


class Screen:
    """One pass over the batches of a source; `set_aside` fills as the reader is drained."""

    def __init__(self) -> None:
        #: Rows that are not valid UTF-8: they cannot travel as text, and are read one by one.
        self.set_aside: list[int] = []

    def reader(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
        """Add digest and verdicts to batches of (row, conversation_id, step, payload).

        Ids and payloads come as bytes. `plain`: nothing stands against the fast path. `loose`:
        the whole document was checked, since it has spaces that AX does not write.
        `free_objects`: how many free-form objects were checked.
        """
        return pa.RecordBatchReader.from_batches(SCHEMA, (self._screen(b) for b in batches))

    def _screen(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            conversation_id, payload = _as_text(batch, 1), _as_text(batch, 3)
        except pa.ArrowInvalid:
            batch = self._only_text(batch)
            conversation_id, payload = _as_text(batch, 1), _as_text(batch, 3)
        digests: list[bytes] = []
        plain: list[bool] = []
        loose: list[bool] = []
        free: list[int] = []
        sha256 = hashlib.sha256
        for raw in batch.column(3).cast(pa.binary()).to_pylist():
            digests.append(sha256(raw).digest())
            count, checked_whole = _free_objects(raw)
            plain.append(count >= 0)
            loose.append(checked_whole)
            free.append(count)
        packed = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(32), len(digests), [None, pa.py_buffer(b"".join(digests))]
        )
        return pa.RecordBatch.from_arrays(
            [
                batch.column(0).cast(pa.int64()),
                conversation_id,
                batch.column(2).cast(pa.int64()),
                payload,
                packed,
                pa.array(plain, pa.bool_()),
                pa.array(loose, pa.bool_()),
                pa.array(free, pa.int32()),
            ],
            schema=SCHEMA,
        )

    def _only_text(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        keep = []
        for row, *values in zip(*(batch.column(n).to_pylist() for n in (0, 1, 3)), strict=True):
            is_text = all(_is_utf8(value) for value in values)
            keep.append(is_text)
            if not is_text:
                self.set_aside.append(row)
        return batch.filter(pa.array(keep))


def _as_text(batch: pa.RecordBatch, column: int) -> pa.Array:
    """A column of bytes as text, without a copy; ArrowInvalid if it is not UTF-8."""
    return batch.column(column).cast(pa.binary()).cast(pa.string())


def _is_utf8(raw: bytes | str) -> bool:
    try:
        raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError:
        return False
    return True


def _free_objects(raw: bytes) -> tuple[int, bool]:
    """Check the free-form objects of a row; (-1, False) if the row needs the careful path.

    A NUL escape goes there too: DuckDB would show it as six characters.
    """
    text = raw.decode()
    if "\\u0000" in text:
        return -1, False
    # A key followed by a space was not written by AX; such a document is checked whole, since a
    # space can hide a key from the search below.
    whole = '": ' in text
    try:
        if whole:
            _, end = _scan(text, 0)
            if text[end:].strip(" \t\r\n"):
                return -1, False
        count = 0
        for key in _FREE_KEYS:
            at = text.find(key)
            while at >= 0:
                at += len(key)
                if not whole:
                    _, at = _scan(text, at)
                count += 1
                at = text.find(key, at)
        return count, whole
    except (ValueError, StopIteration, RecursionError):
        return -1, False


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise ValueError


def _finite(digits: str) -> None:
    if math.isinf(float(digits)):
        raise ValueError


def _refuse(_: str) -> NoReturn:
    raise ValueError


_scan = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_int=_finite, parse_constant=_refuse
).scan_once
