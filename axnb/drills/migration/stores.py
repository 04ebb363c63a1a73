"""Where the copies of a drill lie: files in its folder, or databases of a scratch PostgreSQL.

The source is read once, into a copy that nobody writes to; whatever is migrated or served is a copy
of that one.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from axnb.case.custody import PrivateCopy
from axnb.errors import AxnbError, UnavailableError
from axnb.evidence.locators import PostgresLocator, SqliteLocator
from axnb.runtimes.files import usable
from axnb.runtimes.postgres import ScratchPostgres

#: AX's tables that a log may have.
_TABLES = ("conversation_log", "execution_log")


class Store(Protocol):
    """What keeps the copies of one drill."""

    def take(self) -> str:
        """Copy the source; the log that `axnb load` takes. Raises SourceError."""

    def copy(self, log: str, name: str) -> str:
        """Another copy of a log that is here."""

    def place(self, name: str) -> str:
        """Where a log may be written to: nothing is there."""

    def is_unchanged(self) -> bool:
        """Is the source what was copied?"""


class FileStore:
    """Copies as SQLite files in a folder."""

    def __init__(self, source: SqliteLocator, folder: Path) -> None:
        self._source = source.path
        self._folder = folder
        self._taken: dict[str, Any] = {}

    @usable("the copy of the log")
    def take(self) -> str:
        """Copy the file with what belongs to it; what SQLite has to roll back, it does there."""
        target = self._folder / "as-it-is.sqlite"
        with PrivateCopy(self._source, scratch=self._folder) as copy:
            with (
                closing(sqlite3.connect(copy.path)) as taken,
                closing(sqlite3.connect(target)) as kept,
            ):
                taken.backup(kept)
                # A log in WAL mode would keep a part of what it holds beside it.
                kept.execute("PRAGMA journal_mode = DELETE")
            self._taken = copy.verify()["files"]
        return str(target)

    @usable("a copy of the log")
    def copy(self, log: str, name: str) -> str:
        """Another copy of a log that is here, and is not written to now."""
        target = self.place(name)
        shutil.copyfile(log, target)
        return target

    def place(self, name: str) -> str:
        """Where a log may be written to: nothing is there."""
        return str(self._folder / f"{name}.sqlite")

    def is_unchanged(self) -> bool:
        """Is the source what was copied?"""
        try:
            with PrivateCopy(self._source, scratch=self._folder) as copy:
                return bool(copy.verify()["files"] == self._taken)
        except UnavailableError:
            return False


class DatabaseStore:
    """Copies as databases of one scratch PostgreSQL: there the store matters."""

    def __init__(self, source: PostgresLocator, schema: str, server: ScratchPostgres) -> None:
        self._source = source
        self._schema = schema
        self._server = server
        self._taken: list[tuple[str, int, Any]] = []

    @usable("the copy of the log")
    def take(self) -> str:
        """Copy AX's tables in one transaction that can only read."""
        import psycopg
        from psycopg import sql

        log = self._server.create_database("as_it_is")
        with self._reading() as source, psycopg.connect(log) as kept:
            for table in self._tables(source):
                kept.execute(_table(source, self._schema, table))
                name = sql.Identifier(self._schema, table)
                out = sql.SQL("COPY {} TO STDOUT").format(name)
                back = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))
                with source.cursor().copy(out) as rows, kept.cursor().copy(back) as copy:
                    for piece in rows:
                        copy.write(piece)
            self._taken = self._digests(source)
        return log

    def copy(self, log: str, name: str) -> str:
        """Another copy of a log that is here, and that nobody is connected to."""
        from axnb.runtimes.postgres import database_name

        copied = name.replace("-", "_")
        self._server.execute(f"CREATE DATABASE {copied} TEMPLATE {database_name(log)}")
        return self._server.dsn(copied)

    def place(self, name: str) -> str:
        """Where a log may be written to: nothing is there."""
        return self._server.create_database(name.replace("-", "_"))

    def is_unchanged(self) -> bool:
        """Is the source what was copied?"""
        with self._reading() as source:
            return self._digests(source) == self._taken

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        import psycopg

        try:
            with psycopg.connect(self._source.dsn, connect_timeout=30) as source:
                source.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                source.read_only = True
                yield source
        except psycopg.OperationalError:
            raise UnavailableError(f"{self._source} does not answer, or refuses.") from None

    def _tables(self, source: Any) -> list[str]:
        found = source.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = %s",
            (self._schema,),
        ).fetchall()
        return [name for name in _TABLES if (name,) in found]

    def _digests(self, source: Any) -> list[tuple[str, int, Any]]:
        """Of each table its rows, and a sum over their texts in whatever order."""
        from psycopg import sql

        query = "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) FROM {} t"
        found = []
        for table in self._tables(source):
            name = sql.Identifier(self._schema, table)
            found.append((table, *source.execute(sql.SQL(query).format(name)).fetchone()))
        return found


def _table(source: Any, schema: str, table: str) -> Any:
    """The statement that makes a table with the columns, and the key, of the source's."""
    from psycopg import sql

    columns = source.execute(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
        (schema, table),
    ).fetchall()
    keyed = [name for (name, _) in columns if name in ("conversation_id", "seq", "step")]
    has_key = source.execute(
        "SELECT 1 FROM information_schema.table_constraints WHERE table_schema = %s "
        "AND table_name = %s AND constraint_type = 'PRIMARY KEY'",
        (schema, table),
    ).fetchone()
    told = [sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(kind)) for n, kind in columns]
    if has_key and table == "conversation_log":
        told.append(
            sql.SQL("PRIMARY KEY ({})").format(sql.SQL(", ").join(map(sql.Identifier, keyed)))
        )
    return sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(table), sql.SQL(", ").join(told))


@contextmanager
def open_store(
    source: SqliteLocator | PostgresLocator, schema: str, folder: Path
) -> Iterator[Store]:
    """The store for copies of a source; `schema` is where a PostgreSQL has the log.

    Raises AxnbError where there is no PostgreSQL to run on.
    """
    if isinstance(source, SqliteLocator):
        yield FileStore(source, folder)
        return
    if not ScratchPostgres.available():
        raise AxnbError(
            "a log in PostgreSQL is rehearsed in a PostgreSQL of the drill's own: install "
            "axnb[postgres]."
        )
    with ScratchPostgres() as server:
        yield DatabaseStore(source, schema, server)
