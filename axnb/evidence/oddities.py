"""Land what is odd about rows that AX decodes: at once on the careful path, at a second look at the
few rows of the fast path that may have something odd in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax import protojson, rows
from axnb.ax.oddities import oddities
from axnb.ax.rows import Reading
from axnb.ax.versions import GENERATIONS
from axnb.case.case import run_sql
from axnb.evidence.placing import CarefulRow

#: The storage classes that AX gives to a row's key and payload.
USUAL_CLASSES = "text,integer,text"

_ODDITIES = pa.schema(
    [
        ("row", pa.int64()),
        ("conversation_id", pa.string()),
        ("step", pa.int64()),
        ("kind", pa.string()),
        ("path", pa.string()),
        ("digest", pa.binary()),
    ]
)


def oddity_rows(
    careful: CarefulRow, tree: Any, reading: Reading, digest: bytes
) -> list[dict[str, Any]]:
    """What is odd about a row of the careful path that decodes, the classes of its columns too."""
    found = [
        (oddity.kind, oddity.path)
        for oddity in oddities(tree, reading, careful.conversation_id, careful.step)
    ]
    if careful.key_text != USUAL_CLASSES:
        found.append(("storage-class", careful.key_text))
    return [
        {
            "row": careful.row,
            "conversation_id": careful.conversation_id,
            "step": careful.step,
            "kind": kind,
            "path": path,
            "digest": digest,
        }
        for kind, path in found
    ]


def look_again(session: duckdb.DuckDBPyConnection, source: str) -> None:
    """Land what is odd about the rows of a source that took the fast path.

    SQL picks the rows that may hold something; each of these is parsed once more.
    """
    ((column,),) = session.execute(
        "select step_column from sources where source = ?", [source]
    ).fetchall()
    run_sql(session, "evidence", "landing/odd_candidates.sql", {"source": source})
    chunks = session.execute("select distinct chunk from odd_candidates order by all").fetchall()
    ids = _ids(session, source) if chunks else {}
    for (chunk,) in chunks:
        values = {"source": source, "chunk": chunk}
        found: list[dict[str, Any]] = []
        for row, conversation, step, payload, digest in run_sql(
            session, "evidence", "landing/odd_payloads.sql", values
        ):
            careful = CarefulRow(row, ids[conversation], step, USUAL_CLASSES, step, True, None, 0)
            tree = protojson.parse(payload)
            own = rows.reading(tree, GENERATIONS[rows.READS_SHAPE[rows.shape(tree, column)]])
            found += oddity_rows(careful, tree, own, digest)
        keep_oddities(session, source, found)
    session.execute("drop table odd_candidates")


def _ids(session: duckdb.DuckDBPyConnection, source: str) -> dict[int, str]:
    """The ids of conversations by number."""
    found = session.execute(
        "select conversation, conversation_id from conversation_numbers where source = ?", [source]
    )
    return dict(found.fetchall())


def keep_oddities(
    session: duckdb.DuckDBPyConnection, source: str, found: Sequence[dict[str, Any]]
) -> None:
    """Add rows to the table `oddities`."""
    if found:
        session.register("found_oddities", pa.Table.from_pylist(found, schema=_ODDITIES))
        run_sql(session, "evidence", "landing/oddities.sql", {"source": source})
        session.unregister("found_oddities")
