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

from axnb.evidence.batches import ROW_SCHEMA

#: What the screen hands on; `document` is what the fast path reads: the payload, or the same in one
#: spelling.
SCHEMA = pa.schema(
    [*ROW_SCHEMA, pa.field("document", pa.string()), pa.field("digest", pa.binary())]
)


def screened(
    batches: Iterable[pa.RecordBatch], not_text: list[int], *, respell: bool
) -> pa.RecordBatchReader:
    """Add document and digest to batches of (row, conversation, step, payload).

    Rows that are not valid UTF-8 cannot travel as text: they are left out, and come into `not_text`
    as the reader is drained. With `respell` a row that is spelled with spaces or needless escapes
    gets a document without.
    """
    found = (_screen(batch, not_text, respell) for batch in batches)
    return pa.RecordBatchReader.from_batches(SCHEMA, found)


def _screen(batch: pa.RecordBatch, not_text: list[int], respell: bool) -> pa.RecordBatch:
    try:
        payload = _as_text(batch.column(3))
    except pa.ArrowInvalid:
        batch = _only_text(batch, not_text)
        payload = _as_text(batch.column(3))
    raw = payload.cast(pa.binary()).to_pylist()
    return pa.RecordBatch.from_arrays(
        [
            *batch.columns[:3],
            payload,
            pa.array(map(_document, raw), pa.string()) if respell else payload,
            _digests(raw),
        ],
        schema=SCHEMA,
    )


def _only_text(batch: pa.RecordBatch, not_text: list[int]) -> pa.RecordBatch:
    is_text = pa.array([_is_utf8(raw) for raw in batch.column(3).to_pylist()])
    not_text += batch.column(0).filter(pc.invert(is_text)).to_pylist()
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
    return pa.array(map(_is_strict, raw), pa.bool_())


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
