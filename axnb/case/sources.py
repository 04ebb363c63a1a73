"""Names of sources in a case."""

from __future__ import annotations

import duckdb


def source_name(session: duckdb.DuckDBPyConnection, kind: str, locator: str, name: str) -> str:
    """`name`, `name-2`, …: the first that is free; the same thing keeps the name it has."""
    found = session.execute("select kind, locator, source from sources").fetchall()
    known = {(kind, locator): source for kind, locator, source in found}
    if (kind, locator) in known:
        return str(known[kind, locator])
    taken = set(known.values())
    names = (name if n == 1 else f"{name}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
