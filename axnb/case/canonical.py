"""Digests of what rows say, for comparing the rows of one source with those of another.

They are computed when they are asked for: most rows are never compared.
"""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from axnb.ax.canonical import canonical_digest
from axnb.ax.json_text import PayloadError
from axnb.case.case import sql_text

#: Rows that one query is asked for.
_CHUNK = 1000


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
        return canonical_digest(payload)
    except PayloadError:
        return None
