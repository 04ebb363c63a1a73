"""What each turn of a source ran with, and what would run it now, by fingerprint.

A configuration is fingerprinted once, however many rows hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax.config import HarnessConfig
from axnb.ax.contexts import ContextPart, named, parts_of, parts_of_text
from axnb.ax.json_text import PayloadError
from axnb.case.case import has_rows, run_sql, sql_text

_PARTS = pa.schema(
    [
        ("kind", pa.string()),
        ("text", pa.string()),
        ("part", pa.string()),
        ("fingerprint", pa.string()),
        ("shown", pa.string()),
    ]
)
_NOW = pa.schema(
    [
        ("source", pa.string()),
        ("conversation_id", pa.string()),
        ("part", pa.string()),
        ("fingerprint", pa.string()),
        ("shown", pa.string()),
        ("how", pa.string()),
        ("harness_id", pa.string()),
    ]
)
_SETTINGS = pa.schema(
    [
        ("source", pa.string()),
        ("config", pa.string()),
        ("setting", pa.string()),
        ("fingerprint", pa.string()),
    ]
)


def describe(session: duckdb.DuckDBPyConnection, source: str) -> None:
    """Fill `contexts` with what each turn ran with, and `drifts` with where that changed.

    A part of `derive`, whose temp tables it reads.
    """
    configurations = _fill(session, source, "configurations", "57_contexts")
    if has_rows(session, "executions"):
        configurations += _fill(session, source, "execution_configurations", "58_executions")
    if has_rows(session, "tool_calls"):
        run_sql(session, "case", "derive/59_called.sql", {"source": source})
    if configurations > 1:
        run_sql(session, "case", "derive/70_drifts.sql", {"source": source})


def keep_now(
    session: duckdb.DuckDBPyConnection, source: str, configs: Sequence[HarnessConfig]
) -> None:
    """Keep what would run a source's conversations now, in place of what was known of that."""
    session.execute("delete from contexts where source = ? and turn is null", [source])
    rows: list[dict[str, Any]] = []
    settings: list[dict[str, Any]] = []
    for config in configs:
        try:
            parts = parts_of(config.tree) if config.tree else ()
            owner = [named("harness", config.harness_id)] if config.is_default else []
        except PayloadError:
            # YAML has texts that JSON has not.
            continue
        told = {"source": source, "conversation_id": "", "harness_id": config.harness_id}
        rows += [
            {**told, "how": "ax.yaml", **_row(part)}
            for part in (*owner, *parts)
            if part.part != "setting"
        ]
        settings += _settings(source, parts)
    _append(session, "contexts", rows, _NOW)
    _append(session, "config_settings", settings, _SETTINGS)
    run_sql(session, "case", "derive/70_drifts.sql", {"source": source})


def _fill(session: duckdb.DuckDBPyConnection, source: str, query: str, statement: str) -> int:
    """Take each different configuration apart once, and say of each turn what it had.

    Returns how many there are. One text at a time: some are large.
    """
    configurations = 0
    rows: list[tuple[str | None, ...]] = []
    settings: list[dict[str, Any]] = []
    found = session.execute(sql_text("case", f"queries/{query}.sql"), {"source": source})
    for kind, text in iter(found.fetchone, None):
        parts: Sequence[ContextPart] = [named("harness", text)]
        if kind != "owner":
            configurations += 1
            parts = parts_of_text(text, is_base64=kind == "base64")
            settings += _settings(source, parts)
        rows += [
            (kind, text, part.part, part.fingerprint, part.shown)
            for part in parts
            if part.part not in ("setting", "tool")
        ]
    if rows:
        session.register("context_parts", pa.table(list(zip(*rows, strict=True)), schema=_PARTS))
        run_sql(session, "case", f"derive/{statement}.sql", {"source": source})
        session.unregister("context_parts")
    _append(session, "config_settings", settings, _SETTINGS)
    return configurations


def _append(
    session: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]], schema: pa.Schema
) -> None:
    if rows:
        session.register("rows_to_append", pa.Table.from_pylist(rows, schema=schema))
        session.execute(f"insert into {table} by name select * from rows_to_append")
        session.unregister("rows_to_append")


def _settings(source: str, parts: Sequence[ContextPart]) -> list[dict[str, Any]]:
    whole = next((part.fingerprint for part in parts if part.part == "config"), "")
    return [
        {
            "source": source,
            "config": whole,
            "setting": part.shown,
            "fingerprint": part.fingerprint,
        }
        for part in parts
        if part.part == "setting"
    ]


def _row(part: ContextPart) -> dict[str, Any]:
    return {"part": part.part, "fingerprint": part.fingerprint, "shown": part.shown}
