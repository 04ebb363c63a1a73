"""Canonical digests of the few rows and arguments of a source that have to be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax.canonical import tree_digest
from axnb.ax.json_text import Members, PayloadError, parse
from axnb.case.canonical import digest_if_any
from axnb.case.case import has_rows, run_sql, sql_text

_DIGESTS = pa.schema([("row", pa.int64()), ("part", pa.int64()), ("digest", pa.binary())])


def compare(session: duckdb.DuckDBPyConnection, source: str) -> None:
    """Fill `compared` with what `derive` left in the temp table `to_compare`."""
    found = [
        {"row": row, "part": part, "digest": digest}
        for row, part, digest in _digests(session, {"source": source})
    ]
    if has_rows(session, "to_compare"):
        session.register("canonical_digests", pa.Table.from_pylist(found, schema=_DIGESTS))
        run_sql(session, "case", "derive/65_compared.sql")
        session.unregister("canonical_digests")
    session.execute("drop table to_compare")


def _digests(
    session: duckdb.DuckDBPyConnection, values: dict[str, Any]
) -> Iterator[tuple[int, int, bytes | None]]:
    """(row, part, digest); a row that was rejected has none.

    One text at a time: some are large.
    """
    ((rows, calls),) = session.execute(
        "select count(*) filter (part = 0), count(*) filter (part > 0) from to_compare"
    ).fetchall()
    if rows:
        query = sql_text("case", "queries/payloads_to_compare.sql")
        for row, payload in iter(session.execute(query, values).fetchone, None):
            yield row, 0, _content_digest(payload)
    if calls:
        query = sql_text("case", "queries/arguments_to_compare.sql")
        for row, part, arguments in iter(session.execute(query, values).fetchone, None):
            yield row, part, digest_if_any(arguments or "{}")


def _content_digest(payload: str) -> bytes | None:
    """What a row says apart from its number, which up to G6 stands in its payload as well."""
    try:
        tree: Any = parse(payload)
        if isinstance(tree, Members):
            tree = Members(member for member in tree if member[0] not in ("seq", "step"))
        return tree_digest(tree)
    except PayloadError:
        return None
