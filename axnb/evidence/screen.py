"""Look at the raw rows beside DuckDB: digests, and what its JSON reader is too kind about.

DuckDB's JSON reader accepts NaN, numbers that overflow a double and duplicate keys, and AX does
not. In the fixed part of a row the fast path notices them by itself; free-form objects (arguments,
results, configuration) are read and written once more by a strict reader.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

#: What the screen hands on; `document` is what the fast path reads: the payload, or the same in one
#: spelling.
SCHEMA = pa.schema(
    [
        pa.field("row", pa.int64()),
        pa.field("conversation", pa.int32()),
        pa.field("step", pa.int64()),
        pa.field("payload", pa.string()),
        pa.field("document", pa.string()),
        pa.field("digest", pa.binary()),
    ]
)


class Screen:
    """One pass over the batches of a source; `not_text` fills as the reader is drained.

    With `respell` a row that is spelled with spaces or needless escapes gets a document without.
    """

    def __init__(self, *, respell: bool) -> None:
        self._respell = respell
        #: Rows that are not valid UTF-8: they cannot travel as text, and are read one by one.
        self.not_text: list[int] = []

    def reader(self, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
        """Add document and digest to batches of (row, conversation, step, payload)."""
        return pa.RecordBatchReader.from_batches(SCHEMA, (self._screen(b) for b in batches))

    def _screen(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            payload = _as_text(batch.column(3))
        except pa.ArrowInvalid:
            batch = self._only_text(batch)
            payload = _as_text(batch.column(3))
        raw = payload.cast(pa.binary()).to_pylist()
        return pa.RecordBatch.from_arrays(
            [
                *batch.columns[:3],
                payload,
                pa.array(map(_document, raw), pa.string()) if self._respell else payload,
                _digests(raw),
            ],
            schema=SCHEMA,
        )

    def _only_text(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        keep = [_is_utf8(raw) for raw in batch.column(3).to_pylist()]
        is_text = pa.array(keep)
        self.not_text += batch.column(0).filter(pc.invert(is_text)).to_pylist()
        return batch.filter(is_text)


def _as_text(column: pa.Array) -> pa.Array:
    """A column of bytes as text, without a copy; ArrowInvalid if it is not UTF-8."""
    return column.cast(pa.binary()).cast(pa.string())


def _digests(raw: list[bytes]) -> pa.Array:
    sha256 = hashlib.sha256
    digests = b"".join([sha256(payload).digest() for payload in raw])
    buffers = [None, pa.py_buffer(digests)]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), len(raw), buffers).cast(pa.binary())


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


# --- strictness ------------------------------------------------------------------------------

#: What a reader or writer of JSON raises that needs the careful path.
_REFUSALS = (ValueError, TypeError, StopIteration, RecursionError)


def are_strict(objects: pa.ChunkedArray) -> pa.Array:
    """For each JSON object whether a strict reader gives back what it was given.

    If it does, no key is there twice and no number is out of range.
    """
    raw = objects.cast(pa.binary()).to_pylist()
    loads, dumps = orjson.loads, orjson.dumps
    try:
        found = [dumps(loads(leaf)) == leaf for leaf in raw]
    except _REFUSALS:
        found = [_is_strict(leaf) for leaf in raw]
    return pa.array(found, pa.bool_())


def _is_strict(leaf: bytes) -> bool:
    try:
        return bool(orjson.dumps(orjson.loads(leaf)) == leaf)
    except _REFUSALS:
        return False


def is_respelled(payload: bytes) -> bool:
    """Is a payload JSON in another spelling than a document's?"""
    return _document(payload) != payload.decode(errors="replace")


def _document(payload: bytes) -> str:
    """A payload in one spelling, if that says the same; else the payload."""
    document = payload
    try:
        found = orjson.dumps(orjson.loads(payload))
        if _squeezed(found) == _squeezed(payload) or _differs_in_spelling_only(payload):
            document = found
    except _REFUSALS:
        pass
    return document.decode(errors="replace")


def _squeezed(text: bytes) -> bytes:
    """A text without the space after a comma or a colon.

    Two JSON texts that are equal then have the same tokens: quotes, backslashes and everything
    between tokens but those spaces are still there.
    """
    return text.replace(b", ", b",").replace(b": ", b":")


def _differs_in_spelling_only(payload: bytes) -> bool:
    """Has a payload that orjson reads no duplicate key, and every number as orjson writes it?"""
    text = payload.decode()
    _, end = _scan(text, len(text) - len(text.lstrip(" \t\r\n")))
    return not text[end:].strip(" \t\r\n")


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise ValueError


def _as_written(digits: str) -> None:
    if orjson.dumps(orjson.loads(digits)).decode() != digits:
        raise ValueError


_scan = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_as_written, parse_int=_as_written
).scan_once  # type: ignore[attr-defined]
