"""Batches of raw rows on their way from a reader to the case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

#: DuckDB keeps longer texts outside of their column, in blocks of 256 KiB that belong to a stretch of
#: a few hundred rows: one long text among short ones takes a whole block.
LONG_TEXT = 4096

#: Bytes of long rows that wait for each other.
_TOGETHER = 8 << 20


def long_rows_together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows of (row, conversation_id, step, payload), long ones in batches of their own."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        is_long = pc.greater(pc.binary_length(batch.column(3)), LONG_TEXT)
        if not pc.any(is_long).as_py():
            yield batch
            continue
        yield batch.filter(pc.invert(is_long))
        held.append(batch.filter(is_long))
        size += held[-1].nbytes
        if size >= _TOGETHER:
            yield pa.concat_batches(held)
            held, size = [], 0
    if held:
        yield pa.concat_batches(held)
