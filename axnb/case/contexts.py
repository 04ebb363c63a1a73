"""What each turn of a source ran with, and what would run it now, by fingerprint.

A configuration is fingerprinted once, however many rows hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax.config import HarnessConfig
from axnb.ax.contexts import ContextPart, named, names_part, parts_of, parts_of_text
from axnb.ax.json_text import PayloadError
from axnb.case.case import has_rows, run_sql, sql_text

_PARTS = pa.schema(
    [
        ("kind", pa.string()),
        ("text", pa.string()),
        ("is_base64", pa.bool_()),
        ("part", pa.string()),
        ("fingerprint", pa.string()),
        ("shown", pa.string()),
    ]
)
_CALLED = pa.schema(
    [("tools", pa.list_(pa.string())), ("fingerprint", pa.string()), ("shown", pa.string())]
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

#: Tools of a turn are told one by one only where their list is one that would run now.
_OF_NOW_ALONE = "tool"


def describe(
    session: duckdb.DuckDBPyConnection, source: str, configs: Sequence[HarnessConfig] = ()
) -> None:
    """Fill `contexts` from what `derive` left in the temp table `configured`, and `drifts`.

    `configs` is what an ax.yaml says of what would run now.
    """
    several = False
    if has_rows(session, "configured"):
        parts = list(_parts(session))
        several = len({part["text"] for part in parts if part["part"] == "config"}) > 1
        _run_with(session, source, "context_parts", parts, _PARTS, "66_contexts")
    session.execute("drop table configured")
    if has_rows(session, "tool_calls"):
        run_sql(session, "case", "queries/called_tools.sql", {"source": source})
        sets = session.execute("select distinct tools from called").fetchall()
        called = [{"tools": tools, **_row(names_part("tools", tools))} for (tools,) in sets]
        _run_with(session, source, "called_parts", called, _CALLED, "67_called")
        session.execute("drop table called")
    if configs:
        keep_now(session, source, configs)
    elif several:
        run_sql(session, "case", "derive/70_drifts.sql", {"source": source})


def keep_now(
    session: duckdb.DuckDBPyConnection, source: str, configs: Sequence[HarnessConfig]
) -> None:
    """Keep what would run a source's conversations now, in place of what was known of that."""
    session.execute("delete from contexts where source = ? and turn is null", [source])
    rows = [
        {"source": source, "conversation_id": "", "how": "ax.yaml", **row} for row in _now(configs)
    ]
    session.register("context_now", pa.Table.from_pylist(rows, schema=_NOW))
    session.execute("insert into contexts by name select * from context_now")
    session.unregister("context_now")
    run_sql(session, "case", "derive/70_drifts.sql", {"source": source})


def _run_with(
    session: duckdb.DuckDBPyConnection,
    source: str,
    name: str,
    rows: list[dict[str, Any]],
    schema: pa.Schema,
    statement: str,
) -> None:
    session.register(name, pa.Table.from_pylist(rows, schema=schema))
    run_sql(session, "case", f"derive/{statement}.sql", {"source": source})
    session.unregister(name)


def _parts(session: duckdb.DuckDBPyConnection) -> Iterator[dict[str, Any]]:
    """The parts of each different configuration and of each owner's name."""
    found = session.execute(sql_text("case", "queries/configurations.sql"))
    # One text at a time: some are large.
    for kind, text, is_base64 in iter(found.fetchone, None):
        parts: Iterable[ContextPart]
        if kind == "harness":
            parts = [named("harness", text)]
        else:
            parts = parts_of_text(text, is_base64=is_base64)
        for part in parts:
            if part.part != _OF_NOW_ALONE:
                yield {"kind": kind, "text": text, "is_base64": is_base64, **_row(part)}


def _now(configs: Sequence[HarnessConfig]) -> Iterator[dict[str, Any]]:
    for config in configs:
        try:
            parts = parts_of(config.tree) if config.tree else ()
            owner = [named("harness", config.harness_id)] if config.is_default else []
        except PayloadError:
            # YAML has texts that JSON has not.
            continue
        for part in (*owner, *parts):
            yield {"harness_id": config.harness_id, **_row(part)}


def _row(part: ContextPart) -> dict[str, Any]:
    return {"part": part.part, "fingerprint": part.fingerprint, "shown": part.shown}
