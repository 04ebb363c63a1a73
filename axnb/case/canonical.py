"""Digests of what rows say, for comparing the rows of one source with those of another.

They are computed when they are asked for: most rows are never compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax.canonical_quick import quick_digest
from axnb.ax.json_text import PayloadError
from axnb.case.case import sql_text
from axnb.case.chunks import chunks
from axnb.case.digesters import Digesters
from axnb.case.digesting import SIZE, Digests, Texts

#: Rows that one query is asked for.
_CHUNK = 1000

#: Bytes of a short text and of a usual one, and how many of them are in memory together.
_CLASSES = ((4 << 10, 4096), (64 << 10, 256))
#: Longer ones: how many bytes of them, and how many.
_TOGETHER = 16 << 20
_MOST_ROWS = 1000

#: What no conversation's number is above.
EVERY = (-1, (1 << 31) - 1)


def canonical_digests(
    session: duckdb.DuckDBPyConnection, source: str, rows: Iterable[int]
) -> dict[int, bytes | None]:
    """The canonical digest (sha256, 32 bytes) of each of these rows of a source, by row.

    None is unknown, and equals nothing, not even another None: the payload has no canonical form
    (see `axnb.ax.canonical`), or `event_rows` does not hold the row, as where it was rejected.
    """
    digests: dict[int, bytes | None] = dict.fromkeys(sorted(set(rows)))
    query = sql_text("case", "queries/payloads.sql")
    numbers = list(digests)
    for start in range(0, len(numbers), _CHUNK):
        values = {"source": source, "rows": numbers[start : start + _CHUNK]}
        # One payload at a time: some are large.
        for row, payload in iter(session.execute(query, values).fetchone, None):
            digests[row] = digest_if_any(payload)
    return digests


def digest_if_any(payload: str) -> bytes | None:
    """The canonical digest of a text; None if it has no canonical form."""
    try:
        return quick_digest(payload.encode())
    except (PayloadError, UnicodeEncodeError):
        return None


def all_canonical_digests(
    session: duckdb.DuckDBPyConnection, source: str, conversations: tuple[int, int] = EVERY
) -> Iterator[pa.RecordBatch]:
    """The canonical digest of every row of a source, rejected ones included, in no order.

    Columns: row, conversation (its number in `conversation_numbers`; -1 if the id could not be
    read), step, visible, text_digest (sha256 of the text; null if that could not be read) and
    digest (32 bytes; null is unknown, and equals nothing). `conversations` are the first and the
    last number of those that are asked for. Many rows are done by several processes, and a few
    pieces are in memory at a time; the session is busy until the last batch was taken.
    """
    values = {"source": source, "first": conversations[0], "last": conversations[1]}
    queries = [sql_text("case", f"queries/{name}_texts.sql") for name in ("event", "reject")]
    yield from digested(session, queries, values)


def digested(
    session: duckdb.DuckDBPyConnection, queries: Iterable[str], values: dict[str, Any]
) -> Iterator[pa.RecordBatch]:
    """What each query finds, with a column `digest` in the place of `text` and `size`.

    A query has the columns row, text (text or bytes; null has no canonical form) and size, its
    bytes.
    """
    sizes = [(query, _sizes(session, query, values)) for query in queries]
    with Digesters(sum(size for _, (_, size, _) in sizes)) as digesters:
        for query, (rows, _, longest) in sizes:
            if rows:
                found = _batches(session, query, values, longest)
                pieces = ((batch, _texts(batch)) for batch in found)
                for batch, digests in digesters.digests(pieces):
                    yield _with_digests(batch, digests)


def _sizes(session: duckdb.DuckDBPyConnection, query: str, values: dict[str, Any]) -> list[int]:
    """How many texts there are, with their bytes, and the longest one."""
    counted = f"select count(*), coalesce(sum(size), 0)::bigint, max(size) from ({query})"
    ((rows, size, longest),) = session.execute(counted, values).fetchall()
    return [rows, size, longest or 0]


def _batches(
    session: duckdb.DuckDBPyConnection, query: str, values: dict[str, Any], longest: int
) -> Iterator[pa.RecordBatch]:
    """The rows as Arrow, with few enough texts at a time; the result is never in memory whole."""
    least = 0
    for most, rows in _CLASSES:
        if longest >= least:
            some = f"select * exclude (size) from ({query}) where size between $least and $most"
            bound = values | {"least": least, "most": most}
            yield from session.sql(some, params=bound).to_arrow_reader(rows)
        least = most + 1
    if longest >= least:
        large = f'select "row", size from ({query}) where size >= $least order by "row"'
        found = session.execute(large, values | {"least": least}).fetchall()
        some = f'select * exclude (size) from ({query}) where "row" in (select unnest($rows))'
        for chunk in chunks(found, _TOGETHER, _MOST_ROWS):
            bound = values | {"rows": chunk}
            yield from session.sql(some, params=bound).to_arrow_reader(_MOST_ROWS)


def _texts(batch: pa.RecordBatch) -> Texts:
    """The texts of a batch as they lie in memory; a null is an empty one."""
    column = batch.column("text")
    _, places, data = column.buffers()
    offsets = memoryview(places)[column.offset * 4 :][: (len(column) + 1) * 4].cast("B").cast("i")
    start, end = offsets[0], offsets[-1]
    return Texts(offsets, memoryview(data or b"")[start:end])


def _with_digests(batch: pa.RecordBatch, found: Digests) -> pa.RecordBatch:
    import numpy as np

    known = np.packbits(np.frombuffer(found.known, np.uint8), bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(found.digests)]
    digests = pa.FixedSizeBinaryArray.from_buffers(pa.binary(SIZE), len(found.known), buffers)
    return batch.drop_columns(["text"]).append_column("digest", digests)
