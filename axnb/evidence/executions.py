"""Land the rows of G3's execution_log: who ran a turn, with what, and how it ended."""

from __future__ import annotations

import base64
import hashlib
from contextlib import suppress
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax import protojson, schemas
from axnb.evidence.reader import ExecutionRow, LogReader

_EXECUTIONS = pa.schema(
    [
        ("source", pa.string()),
        ("row", pa.int64()),
        ("exec_id", pa.string()),
        ("named", pa.string()),
        ("agent_id", pa.string()),
        ("config", pa.string()),
        ("state", pa.int32()),
        ("recorded_at", pa.string()),
        ("internal", pa.int32()),
        ("digest", pa.binary()),
    ]
)


def land_executions(
    session: duckdb.DuckDBPyConnection, source: str, reader: LogReader
) -> tuple[int, int]:
    """Fill `executions`; how many rows were read, and how many of them do not decode."""
    found = [_execution(source, row) for row in reader.executions()]
    if found:
        session.register("incoming", pa.Table.from_pylist(found, schema=_EXECUTIONS))
        session.execute("insert into executions by name select * from incoming")
        session.unregister("incoming")
    return len(found), sum(row["state"] is None for row in found)


def _execution(source: str, execution: ExecutionRow) -> dict[str, Any]:
    event: dict[str, Any] | None = None
    with suppress(protojson.PayloadError, UnicodeDecodeError):
        message = schemas.message("g3", "ExecutionEvent")
        event = protojson.decode(protojson.parse(execution.payload.decode()), message)
    told = event or {}
    config = told.get("agent_config")
    return {
        "source": source,
        "row": execution.row,
        "exec_id": execution.exec_id,
        "named": told.get("exec_id"),
        "agent_id": told.get("agent_id"),
        "config": base64.b64encode(config).decode() if config else None,
        "state": None if event is None else event.get("state", 0),
        "recorded_at": execution.recorded_at,
        "internal": sum(output.get("internal_only", False) for output in told.get("outputs", ())),
        "digest": hashlib.sha256(execution.payload).digest(),
    }
