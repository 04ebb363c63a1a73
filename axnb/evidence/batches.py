"""Batches of raw rows on their way from a reader to the case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

#: A row on its way, with its conversation's number; its payload comes as bytes before the screen.
ROW_SCHEMA = pa.schema(
    [
        pa.field("row", pa.int64()),
        pa.field("conversation", pa.int32()),
        pa.field("step", pa.int64()),
        pa.field("payload", pa.string()),
    ]
)


class ConversationNumbers:
    """The numbers of conversations within their source, in the order in which they came."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, conversation_id: str) -> int:
        """The number of a conversation, a new one if it has none."""
        number = self._numbers.setdefault(conversation_id, len(self.ids))
        if number == len(self.ids):
            self.ids.append(conversation_id)
        return number

    def table(self, source: str) -> pa.Table:
        """Rows for `conversation_numbers`."""
        numbers = range(len(self.ids))
        return pa.table(
            {
                "source": [source] * len(self.ids),
                "conversation": numbers,
                "conversation_id": self.ids,
            }
        )

    def numbered(
        self, batches: Iterable[pa.RecordBatch], not_text: list[int]
    ) -> Iterator[pa.RecordBatch]:
        """The same rows with numbers in place of ids: (row, conversation, step, payload).

        Those whose id is not UTF-8 are left out, and come into `not_text`.
        """
        for batch in batches:
            ids = batch.column(1).cast(pa.binary()).dictionary_encode()
            found = [self._of_bytes(raw) for raw in ids.dictionary.to_pylist()]
            conversation = pa.array(found, pa.int32()).take(ids.indices)
            rows = pa.RecordBatch.from_arrays(
                [
                    batch.column(0).cast(pa.int64()),
                    conversation,
                    batch.column(2).cast(pa.int64()),
                    batch.column(3).cast(pa.binary()),
                ],
                names=ROW_SCHEMA.names,
            )
            if conversation.null_count:
                not_text += rows.column(0).filter(conversation.is_null()).to_pylist()
                rows = rows.filter(conversation.is_valid())
            yield rows

    def _of_bytes(self, raw: bytes) -> int | None:
        try:
            return self.number(raw.decode())
        except UnicodeDecodeError:
            return None


#: DuckDB keeps longer texts outside of their column, in blocks of 256 KiB that belong to a stretch
#: of a few hundred rows: one long text among short ones takes a whole block.
LONG_TEXT = 4096

#: Bytes of batches that wait for each other, and that are handed on at once.
_TOGETHER = 4 << 20


class _Waiting:
    """Batches that wait until they make a few MB, and then leave as one."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._size = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Let a batch wait; all of them, if they are enough now."""
        self._batches.append(batch)
        self._size += batch.nbytes
        if self._size >= _TOGETHER:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """All that wait, as one batch, if any do."""
        if self._batches:
            yield pa.concat_batches(self._batches)
            self._batches, self._size = [], 0


def long_rows_together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows of (row, conversation, step, payload), long ones in batches of their own."""
    waiting = _Waiting()
    for batch in batches:
        is_long = pc.greater(pc.binary_length(batch.column(3)), LONG_TEXT)
        if not pc.any(is_long).as_py():
            yield batch
            continue
        if usual := batch.filter(pc.invert(is_long)):
            yield usual
        yield from _in_pieces(waiting.add(batch.filter(is_long)))
    yield from _in_pieces(waiting.rest())


def _in_pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pieces that take a few MB each, or one row: DuckDB holds each of them several times."""
    for batch in batches:
        rows = max(1, _TOGETHER * batch.num_rows // batch.nbytes)
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def small_ones_together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches: DuckDB takes as long for a single row as for hundreds."""
    waiting = _Waiting()
    for batch in batches:
        yield from waiting.add(batch)
    yield from waiting.rest()


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
