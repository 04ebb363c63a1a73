"""Load a client's transcript or a server's log into a case: all of it or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from axnb.case.case import Case, run_sql
from axnb.case.sources import source_name
from axnb.errors import SourceError
from axnb.evidence.lines import LineError, LineFile, RejectedLines
from axnb.evidence.server_log import read_event
from axnb.evidence.transcript import read_output

#: Lines that are put into the case at once.
_BATCH = 20_000

_PLACE = (("source", pa.string()), ("line", pa.int64()))


@dataclass(frozen=True)
class Witness:
    """A kind of file that says something of a conversation beside its log."""

    #: Its kind in `sources`, and the name of the first one.
    kind: str
    #: What a message calls it.
    called: str
    table: str
    schema: pa.Schema
    #: A line as columns of the table. Raises LineError.
    read: Callable[[bytes], dict[str, Any]]


CLIENT = Witness(
    "client",
    "a client transcript",
    "client_outputs",
    pa.schema(
        [
            *_PLACE,
            ("conversation_id", pa.string()),
            ("number", pa.int64()),
            ("kind", pa.string()),
            ("digest", pa.string()),
        ]
    ),
    read_output,
)
SERVER_LOG = Witness(
    "server-log",
    "an AX server log",
    "server_events",
    pa.schema(
        [
            *_PLACE,
            ("at", pa.timestamp("us")),
            ("level", pa.string()),
            ("event", pa.string()),
            ("conversation_id", pa.string()),
            ("reason", pa.string()),
        ]
    ),
    read_event,
)


def load_witness(case: Case, path: Path, witness: Witness) -> str:
    """Load one file and return the name of its source in the case.

    A file that is loaded again replaces what was there. Raises SourceError if it cannot be read or
    no line of it can; then the case is as it was before.
    """
    with LineFile(path) as file, case.writing() as session:
        case.make_room(file.size(), whole=False)
        source = source_name(session, witness.kind, file.locator, witness.kind)
        for table in (witness.table, "sources"):
            session.execute(f"delete from {table} where source = ?", [source])
        rejected = RejectedLines()
        parsed = _land(session, _rows(file, witness, source, rejected), witness)
        if not parsed:
            why = "" if rejected.count else ": it is empty"
            raise SourceError(f"{path} holds no line of {witness.called}{why}.")
        values = {
            "source": source,
            "kind": witness.kind,
            "locator": file.locator,
            "read": parsed + rejected.count,
            "parsed": parsed,
            "rejected": rejected.count,
            "custody": json.dumps(file.custody(), sort_keys=True),
            "notes": rejected.sentences(source, foreign=True),
            "incomplete": rejected.sentences(source, foreign=False),
        }
        run_sql(session, "evidence", "landing/witness_source.sql", values)
    return source


def _rows(
    file: LineFile, witness: Witness, source: str, rejected: RejectedLines
) -> Iterator[dict[str, Any]]:
    for number, line in file:
        try:
            if line is None:
                raise LineError("too long")
            yield {"source": source, "line": number, **witness.read(line)}
        except LineError as err:
            rejected.add(number, err)


def _land(
    session: duckdb.DuckDBPyConnection, rows: Iterator[dict[str, Any]], witness: Witness
) -> int:
    landed = 0
    while batch := list(islice(rows, _BATCH)):
        session.register("incoming", pa.Table.from_pylist(batch, schema=witness.schema))
        session.execute(f"insert into {witness.table} by name select * from incoming")
        session.unregister("incoming")
        landed += len(batch)
    return landed
