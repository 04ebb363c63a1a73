"""Look at the raw rows before DuckDB does: digests, and what its JSON reader is too kind about.

DuckDB's JSON reader accepts NaN, numbers that overflow a double and duplicate keys, and AX does
not. In the fixed part of a row the fast path notices them by itself; inside the free-form objects
(arguments, results, configuration) only a look at each of them helps. It is taken here, in one
pass, on the text itself.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator
from decimal import Context, InvalidOperation, Overflow
from itertools import pairwise
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

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
        starts, whole = _pieces(batch.column(3).cast(pa.binary()))
        view, sha256 = memoryview(whole), hashlib.sha256
        digests = b"".join([sha256(view[a:z]).digest() for a, z in pairwise(starts)])
        return pa.RecordBatch.from_arrays(
            [
                batch.column(0).cast(pa.int64()),
                conversation_id,
                batch.column(2).cast(pa.int64()),
                payload,
                pa.FixedSizeBinaryArray.from_buffers(
                    pa.binary(32), len(starts) - 1, [None, pa.py_buffer(digests)]
                ),
                pa.array(_verdicts(payload, starts, whole), pa.int32()),
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


def _pieces(column: pa.Array) -> tuple[list[int], bytes]:
    """Where the values of a binary column without NULLs begin and end, and all of their bytes."""
    first, last = column.offset, column.offset + len(column)
    _, offsets, data = column.buffers()
    starts = memoryview(offsets).cast("i")[first : last + 1].tolist()
    return starts, data.to_pybytes() if data is not None else b""


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


_REFUSED = -1

#: Bytes at the start of a row in which its ids and the key of its configuration stand.
_HEAD = 512

#: Keys of the objects in a call and in a result, and what tells the two apart: `function_c…`.
_CALL_KEYS = (b'"arguments":',)
_RESULT_KEYS = (b'"struct_value":', b'"response":')
_CONFIG = b'_config":'
_C = ord("c")

#: How every row begins that AX wrote.
_USUAL_START = '{"conversation_id":"'

#: What the scan of a document raises that needs the careful path.
_REFUSALS = (
    ValueError,
    IndexError,
    StopIteration,
    RecursionError,
    Overflow,
    InvalidOperation,
)


def _verdicts(payload: pa.Array, starts: list[int], whole: bytes) -> list[int]:
    """The values of `screened` for a batch.

    What must be looked at is searched in all of its bytes at once: most rows need no look at all.
    A NUL escape goes the careful way: DuckDB would show it as six characters.
    """
    verdicts = [0] * (len(starts) - 1)
    for row in _rows_with(b"\\u0000", starts, whole):
        verdicts[row] = _REFUSED
    usual = pc.starts_with(payload, _USUAL_START)
    if not pc.all(usual).as_py():
        for row, is_usual in enumerate(usual.to_pylist()):
            if not is_usual and verdicts[row] != _REFUSED:
                verdicts[row] = _checked_whole(whole[starts[row] : starts[row + 1]])
    # Free-form objects stand inside a call or a result, or are a configuration.
    looked: set[int] = set()
    for needle in (b'"function_', b'_config":'):
        for row in _rows_with(needle, starts, whole):
            if verdicts[row] == 0 and row not in looked:
                looked.add(row)
                verdicts[row] = _screen_row(whole[starts[row] : starts[row + 1]])
    return verdicts


def _rows_with(needle: bytes, starts: list[int], whole: bytes) -> Iterator[int]:
    """Rows in which the needle begins, in order, each of them once."""
    at = whole.find(needle, starts[0], starts[-1])
    row = 0
    while at >= 0:
        row = bisect_right(starts, at, row) - 1
        yield row
        row += 1
        if row >= len(starts) - 1:
            return
        at = whole.find(needle, starts[row], starts[-1])


def _screen_row(raw: bytes) -> int:
    """The value of `screened` for a usual row that has a call, a result or a configuration."""
    try:
        checked = 0
        at = raw.find(b'"function_')
        if at >= 0:
            for key in _CALL_KEYS if raw[at + 10] == _C else _RESULT_KEYS:
                checked += _checked(raw, key)
        if raw.find(_CONFIG, 0, _HEAD) >= 0:
            # AX writes the configuration before the content; one that stands elsewhere is not
            # counted here, and the fast path notices that.
            checked += _checked(raw, _CONFIG)
        return 2 * checked
    except _REFUSALS:
        return _REFUSED


def _checked_whole(raw: bytes) -> int:
    """The value of `screened` for a row that AX would not spell so."""
    try:
        return _whole(raw.decode())
    except _REFUSALS:
        return _REFUSED


def _whole(text: str) -> int:
    """Check a whole document, and count the free-form objects in it."""
    _, end = _scan(text, 0)
    if text[end:].strip(" \t\r\n"):
        return _REFUSED
    keys = ('"arguments":', '"struct_value":', '"response":', '_config":')
    return 2 * sum(text.count(key) for key in keys) + 1


def _checked(raw: bytes, key: bytes) -> int:
    """How many objects stand under `key`, each of them checked.

    What follows the key must follow it at once, as AX writes it. A key inside a text has its quotes
    escaped, so it is not taken for one.
    """
    count = 0
    at = raw.find(key)
    while at >= 0:
        rest = raw[at + len(key) :].decode()
        _, end = _scan(rest, 0)
        count += 1
        skipped = end if rest.isascii() else len(rest[:end].encode())
        at = raw.find(key, at + len(key) + skipped)
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
