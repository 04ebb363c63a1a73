"""Ledgers that are tables: Parquet, SQLite, PostgreSQL."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from axnb.case.custody import PrivateCopy
from axnb.errors import SourceChangedError, SourceError, UnavailableError
from axnb.evidence.ledgers.records import Entry, Numbered
from axnb.evidence.lines import LineError
from axnb.evidence.locators import PostgresLocator, public_dsn
from axnb.evidence.postgres_session import PostgresSession
from axnb.text import sql_name

_BATCH = 8_192


def _chosen(tables: dict[str, list[str]], asked: str | None, needed: str, place: str) -> str:
    """The table that is asked for, or the only one that has the column. Raises SourceError."""
    if asked is not None:
        if asked not in tables:
            raise SourceError(f"{place} has no table {asked[:80]}: correct `table` in axnb.toml.")
        return asked
    fitting = sorted(name for name, columns in tables.items() if needed in columns)
    if len(fitting) != 1:
        found = "no table has" if not fitting else f"{len(fitting)} tables have"
        raise SourceError(
            f"{place} names no ledger by itself: {found} a column {needed}; say `table` and "
            "`columns` in axnb.toml."
        )
    return fitting[0]


class ParquetFile:
    """A Parquet file; decimals and large integers keep every digit."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> ParquetFile:
        import pyarrow.parquet as pq

        self.locator = os.fsencode(self._path.resolve()).decode(errors="backslashreplace")
        self._before = self._digest()
        try:
            self._file = pq.ParquetFile(self._path)
        except (OSError, pa.ArrowException) as err:
            raise UnavailableError(f"{self._path} cannot be read as Parquet.") from err
        self._schema = self._file.schema_arrow
        self.columns: Sequence[str] = self._schema.names
        if len({*self.columns}) != len(self.columns):
            self._file.close()
            raise SourceError(f"{self._path} has two columns of one name.")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _digest(self) -> tuple[int, str]:
        try:
            with self._path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                return os.fstat(file.fileno()).st_size, digest
        except OSError as err:
            raise UnavailableError(f"{self._path} cannot be read: {err.strerror}.") from err

    def size(self) -> int:
        """Bytes of the file."""
        return self._before[0]

    def entries(self, wanted: Sequence[str]) -> Iterator[Numbered]:
        """Rows of all groups, in order."""
        names = [name for name in wanted if name in self.columns]
        number = 0
        try:
            for batch in self._file.iter_batches(batch_size=_BATCH, columns=names):
                columns = [_texts(batch.column(name)) for name in names]
                for values in zip(*columns, strict=True):
                    number += 1
                    wrong = next((v for v in values if isinstance(v, LineError)), None)
                    entry = dict(zip(names, values, strict=True))
                    yield Numbered(number, wrong or entry)
        except (OSError, pa.ArrowException) as err:
            raise UnavailableError(f"{self._path} is damaged after row {number}.") from err

    def inexact(self, wanted: Sequence[str]) -> list[str]:
        """Columns of floating-point numbers."""
        names = [name for name in wanted if name in self.columns]
        return [name for name in names if pa.types.is_floating(self._schema.field(name).type)]

    def custody(self) -> dict[str, Any]:
        """Digest and size, which must be those of before."""
        if self._digest() != self._before:
            raise SourceChangedError(f"{self._path} changed while it was read: read it again.")
        size, digest = self._before
        files = {os.path.basename(self.locator): {"size": size, "sha256": digest}}
        return {"sha256": digest, "bytes": size, "files": files}


def _texts(column: pa.Array) -> list[str | LineError | None]:
    """Values as texts; one that is no text is told by itself."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return [_decoded(value) for value in column.cast(pa.binary()).to_pylist()]
    try:
        return list(column.cast(pa.string()).to_pylist())
    except pa.ArrowException:
        return [None if value is None else str(value) for value in column.to_pylist()]


def _decoded(value: bytes | None) -> str | LineError | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return LineError("no UTF-8")


class SqliteLedger:
    """A table of a SQLite file, read from a private copy."""

    def __init__(self, path: Path, table: str | None, needed: str, scratch: Path | None) -> None:
        self._path, self._table, self._needed = path, table, needed
        self._copy = PrivateCopy(path.resolve(), scratch=scratch)

    def __enter__(self) -> SqliteLedger:
        self.locator = os.fsencode(self._path.resolve()).decode(errors="backslashreplace")
        self._copy.__enter__()
        try:
            self._connection = sqlite3.connect(self._copy.path)
            self._connection.text_factory = bytes
            self._connection.execute("pragma query_only = on")
            tables = self._tables()
        except sqlite3.Error as err:
            self._copy.__exit__()
            raise self._damaged(err) from err
        except BaseException:
            self._copy.__exit__()
            raise
        try:
            self._name = _chosen(tables, self._table, self._needed, str(self._path))
        except SourceError:
            self.__exit__()
            raise
        self.columns: Sequence[str] = tables[self._name]
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._copy.__exit__()

    def _tables(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        sql = (
            "select m.name, p.name from sqlite_master m, pragma_table_info(m.name) p "
            "where m.type in ('table', 'view') order by p.cid"
        )
        for table, column in self._connection.execute(sql):
            names = (raw.decode(errors="backslashreplace") for raw in (table, column))
            name, of = names
            found.setdefault(name, []).append(of)
        return found

    def _damaged(self, err: sqlite3.Error) -> SourceError:
        return UnavailableError(f"{self._path} cannot be read as SQLite: {err}.")

    def size(self) -> int:
        """Bytes of the file."""
        return self._copy.path.stat().st_size

    def entries(self, wanted: Sequence[str]) -> Iterator[Numbered]:
        """Rows as the table gives them."""
        names = [name for name in wanted if name in self.columns]
        sql = f"select {', '.join(map(sql_name, names))} from {sql_name(self._name)}"
        try:
            for number, values in enumerate(self._connection.execute(sql), 1):
                try:
                    yield Numbered(number, _values(names, values))
                except LineError as err:
                    yield Numbered(number, err)
        except sqlite3.Error as err:
            raise self._damaged(err) from err

    def inexact(self, wanted: Sequence[str]) -> list[str]:
        """Columns with any floating-point number."""
        names = [name for name in wanted if name in self.columns]
        sql = "select 1 from {} where typeof({}) = 'real' limit 1"
        table = sql_name(self._name)
        return [
            n for n in names if self._connection.execute(sql.format(table, sql_name(n))).fetchone()
        ]

    def custody(self) -> dict[str, Any]:
        """Hashes of the files, which must be those of before."""
        return self._copy.verify()


def _values(names: list[str], values: tuple[Any, ...]) -> Entry:
    entry: Entry = {}
    for name, value in zip(names, values, strict=True):
        try:
            text = value.decode() if isinstance(value, bytes) else value
        except UnicodeDecodeError:
            raise LineError("no UTF-8") from None
        entry[name] = text if text is None or isinstance(text, str) else str(text)
    return entry


class PostgresLedger:
    """A table or view of a PostgreSQL database, in one transaction that only reads."""

    def __init__(
        self, locator: PostgresLocator, table: str | None, needed: str, timeout: int
    ) -> None:
        self._locator, self._table, self._needed, self._timeout = locator, table, needed, timeout

    def __enter__(self) -> PostgresLedger:
        place = public_dsn(self._locator.dsn)
        self._session = PostgresSession(self._locator.dsn, place, self._timeout)
        try:
            self._kinds = self._tables()
            tables = {name: list(columns) for name, columns in self._kinds.items()}
            self._name = _chosen(tables, self._wanted_table(), self._needed, place)
        except BaseException:
            self._session.close()
            raise
        self.columns: Sequence[str] = tables[self._name]
        self.locator = f"{place}?table={self._name}"
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def _wanted_table(self) -> str | None:
        if self._table is None or "." in self._table:
            return self._table
        return f"{self._locator.schema or 'public'}.{self._table}"

    def _tables(self) -> dict[str, dict[str, str]]:
        """Columns and their types by schema and table, of what this role may read."""
        found: dict[str, dict[str, str]] = {}
        for schema, table, column, kind in self._session.query(
            "select table_schema::text, table_name::text, column_name::text, data_type::text from "
            "information_schema.columns where table_schema not in ('pg_catalog', "
            "'information_schema') order by ordinal_position"
        ):
            if self._locator.schema in (None, schema):
                found.setdefault(f"{schema}.{table}", {})[column] = kind
        return found

    def size(self) -> int:
        """Bytes of the table; 0 of a view."""
        schema, _, table = self._name.partition(".")
        name = f"{sql_name(schema)}.{sql_name(table)}"
        ((size,),) = self._session.query("select pg_total_relation_size($1::regclass)", [name])
        return int(size or 0)

    def entries(self, wanted: Sequence[str]) -> Iterator[Numbered]:
        """Rows as the server gives them; it writes each value as its type does, in UTC."""
        names = [name for name in wanted if name in self.columns]
        schema, _, table = self._name.partition(".")
        columns = ", ".join(f"{sql_name(name)}::text" for name in names)
        number = 0
        try:
            for batch in self._session.stream(
                f"select {columns} from {sql_name(schema)}.{sql_name(table)}"
            ):
                for values in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                    number += 1
                    yield Numbered(number, dict(zip(names, values, strict=True)))
        except Exception as err:
            raise self._session.translated(err) from None

    def inexact(self, wanted: Sequence[str]) -> list[str]:
        """Columns of floating-point numbers."""
        kinds = self._kinds[self._name]
        return [name for name in wanted if kinds.get(name) in ("real", "double precision")]

    def custody(self) -> dict[str, Any]:
        """The server and its snapshot."""
        return self._session.custody()
