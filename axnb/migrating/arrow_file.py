"""A SQLite file whose rows come and go as Arrow has them, without becoming objects of Python.

What lies under `adbc_driver_sqlite.dbapi` is used here by itself: that module imports pandas.
"""

from __future__ import annotations

from array import array
from contextlib import ExitStack
from typing import Any

import adbc_driver_sqlite
import pyarrow as pa
import pyarrow.compute as pc
from adbc_driver_manager import AdbcConnection, AdbcStatement, Error

from axnb.converting.rows import Texts, UsualRows

__all__ = ["ArrowFile", "Error", "batch_of", "one_row", "usual_rows"]


class ArrowFile:
    """One connection, which commits each statement unless one has begun a transaction.

    `place` is a path or a URI. Methods raise `Error`, of which the text holds no value of a row.
    """

    def __init__(self, place: str) -> None:
        with ExitStack() as stack:
            database = stack.enter_context(adbc_driver_sqlite.connect(place))
            connection = stack.enter_context(AdbcConnection(database))
            self._statement = stack.enter_context(AdbcStatement(connection))
            self._opened = stack.pop_all()

    def __enter__(self) -> ArrowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, sql: str, rows: pa.RecordBatch | None = None) -> None:
        """Run a statement, or run it for each of some rows."""
        self._statement.set_sql_query(sql)
        if rows is not None:
            self._statement.bind(rows)
        self._statement.execute_update()

    def read(self, sql: str, *values: Any) -> pa.RecordBatchReader:
        """What a query finds, batch by batch; read it to its end before anything else."""
        self._statement.set_sql_query(sql)
        if values:
            self._statement.bind(one_row(values))
        found, _ = self._statement.execute_query()
        return pa.RecordBatchReader.from_stream(found)

    def close(self) -> None:
        """What was begun and not committed is gone; a second time does nothing."""
        self._opened.close()


def one_row(values: tuple[Any, ...]) -> pa.RecordBatch:
    """Values for the marks of a statement; bytes are a blob."""
    columns = [pa.array([value]) for value in values]
    return pa.RecordBatch.from_arrays(columns, names=[str(n) for n in range(len(columns))])


def batch_of(rows: UsualRows) -> pa.RecordBatch:
    """Rows in the types of SQLite's; texts that are no UTF-8 stay as they are."""

    def texts(of: Texts) -> pa.Array:
        buffers = [None, pa.py_buffer(of.ends()), pa.py_buffer(of.joined)]
        return pa.Array.from_buffers(pa.string(), len(of.lengths), buffers)

    def numbers(of: array[int]) -> pa.Array:
        return pa.Array.from_buffers(pa.int64(), len(of), [None, pa.py_buffer(of)])

    columns = {
        "row": numbers(rows.row),
        "conversation_id": texts(rows.conversation_id),
        "step": numbers(rows.step),
        "payload": texts(rows.payload),
    }
    return pa.RecordBatch.from_pydict(columns)


def usual_rows(batch: pa.RecordBatch) -> UsualRows:
    """Rows as a query for (row, conversation_id, step, payload) finds them; none is null."""

    def texts(of: pa.Array) -> Texts:
        _, ends, joined = of.buffers()
        first, last = memoryview(ends).cast("i")[of.offset : of.offset + len(of) + 1 : len(of)]
        lengths = _values("i", pc.binary_length(of))
        return Texts(memoryview(joined)[first:last] if last else b"", lengths)

    row, conversation_id, step, payload = batch.columns
    ids, payloads = texts(conversation_id), texts(payload)
    return UsualRows(_values("q", row), ids, _values("q", step), payloads)


def _values(code: str, column: pa.Array) -> array[int]:
    values, width = array(code), column.type.bit_width // 8
    first = column.offset * width
    values.frombytes(memoryview(column.buffers()[1])[first : first + len(column) * width])
    return values
