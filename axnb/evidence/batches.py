"""Batches of raw rows on their way from a reader to the case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

#: DuckDB keeps longer texts outside of their column, in blocks of 256 KiB that belong to a stretch
#: of a few hundred rows: one long text among short ones takes a whole block.
LONG_TEXT = 4096

#: Bytes of long rows that wait for each other, and that are handed on at once.
_TOGETHER = 4 << 20


def long_rows_together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows of (row, conversation_id, step, payload), long ones in batches of their own."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in map(_as_bytes, batches):
        is_long = pc.greater(pc.binary_length(batch.column(3)), LONG_TEXT)
        if not pc.any(is_long).as_py():
            yield batch
            continue
        if usual := batch.filter(pc.invert(is_long)):
            yield usual
        held.append(batch.filter(is_long))
        size += held[-1].nbytes
        if size >= _TOGETHER:
            yield from _in_pieces(pa.concat_batches(held))
            held, size = [], 0
    if held:
        yield from _in_pieces(pa.concat_batches(held))


def _as_bytes(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        column.cast(pa.binary()) if name in ("conversation_id", "payload") else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _in_pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Pieces that take a few MB each, or one row: DuckDB holds each of them several times."""
    rows = max(1, _TOGETHER * batch.num_rows // batch.nbytes)
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


#: DuckDB gathers chunks of fewer than 64 rows until it has 2,048, whatever they weigh.
_LARGE_ROW = 64 << 10
_LARGE_INSERT = 8 << 20


def one_insert_each(batches: Iterable[pa.RecordBatch]) -> Iterator[Iterator[pa.RecordBatch]]:
    """The same batches in groups, each for an INSERT of its own: large rows some at a time.

    Take each group to its end before the next.
    """
    large_bytes = 0

    def group(batch: pa.RecordBatch) -> tuple[int, bool]:
        nonlocal large_bytes
        is_large = batch.nbytes > _LARGE_ROW * batch.num_rows
        large_bytes += batch.nbytes if is_large else 0
        return large_bytes // _LARGE_INSERT, is_large

    for _, found in groupby(batches, group):
        yield found
