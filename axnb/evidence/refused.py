"""Rows that the fast path sets aside, kept until another path reads them.

One INSERT of DuckDB cannot fill two tables, and deleting the rows again makes it write the whole
table twice. So a function in its WHERE clause notes them on the way.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import pyarrow as pa

from axnb.evidence.batches import ROW_SCHEMA, small_ones_together


class RefusedRows:
    """Refused rows of one pass, in a file that only this process sees; a context manager.

    Raises OSError where the scratch folder is full.
    """

    def __init__(self, scratch: Path | None) -> None:
        self.count = 0
        self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - closed on exit
        self._writer = pa.ipc.new_stream(self._file, ROW_SCHEMA)
        self._lock = Lock()

    def __enter__(self) -> RefusedRows:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def set_aside(
        self,
        row: pa.ChunkedArray,
        conversation: pa.ChunkedArray,
        step: pa.ChunkedArray,
        payload: pa.ChunkedArray,
    ) -> pa.Array:
        """Keep rows, and say of each that it is not to be inserted."""
        rows = pa.table([row, conversation, step, payload], names=ROW_SCHEMA.names).cast(ROW_SCHEMA)
        # DuckDB calls from several threads.
        with self._lock:
            self._writer.write_table(rows)
            self.count += len(rows)
        return pa.array([False] * len(rows), pa.bool_())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """What was set aside; nothing can be added any more."""
        self._writer.close()
        self._file.seek(0)
        yield from small_ones_together(pa.ipc.open_stream(self._file))
