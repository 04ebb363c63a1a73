"""Rows of plain Python for tables of a case: typed by the table, and fit to be text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa

_TYPES = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR[]": pa.list_(pa.string()),
}

#: Rows that are handed over at once: an object's row takes about 1 KiB as Python.
_BATCH = 5000


def insert_rows(
    session: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Mapping[str, Any]]
) -> int:
    """Insert rows into a table of the case; returns how many. Columns that a row lacks are NULL."""
    schema = _schema(session, table)
    count = 0
    batch: list[Mapping[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            _insert(session, table, batch, schema)
            count, batch = count + len(batch), []
    if batch:
        _insert(session, table, batch, schema)
    return count + len(batch)


def _schema(session: duckdb.DuckDBPyConnection, table: str) -> pa.Schema:
    columns = session.execute(f"select name, type from pragma_table_info('{table}')").fetchall()
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns])


def _insert(
    session: duckdb.DuckDBPyConnection,
    table: str,
    rows: Sequence[Mapping[str, Any]],
    schema: pa.Schema,
) -> None:
    columns = [
        pa.array(_fitting((row.get(field.name) for row in rows), field.type), field.type)
        for field in schema
    ]
    session.register("incoming", pa.Table.from_arrays(columns, schema=schema))
    session.execute(f"insert into {table} by name select * from incoming")
    session.unregister("incoming")


def _fitting(values: Iterable[Any], kind: pa.DataType) -> list[Any]:
    """Values as a table takes them: times in UTC without a zone, texts as `as_text` has them."""
    if pa.types.is_string(kind):
        return [None if value is None else as_text(value) for value in values]
    if pa.types.is_timestamp(kind):
        return [_utc(value) for value in values]
    if pa.types.is_list(kind):
        return [None if value is None else [as_text(item) for item in value] for value in values]
    return list(values)


def _utc(time: datetime | None) -> datetime | None:
    if time is None or time.tzinfo is None:
        return time
    return time.astimezone(UTC).replace(tzinfo=None)


def as_text(text: str) -> str:
    """A text that has a form in UTF-8: bytes that have none stand as `\\xNN`."""
    if text.isascii():
        return text
    for how in ("strict", "surrogateescape", "surrogatepass"):
        try:
            return text.encode(errors=how).decode(errors="backslashreplace")
        except UnicodeEncodeError:
            continue
    raise AssertionError("surrogatepass takes any text")
