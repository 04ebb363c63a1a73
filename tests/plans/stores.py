"""Stores that a plan is tried on: a copy of a log in SQLite, or one in PostgreSQL."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from axnb.case.case import Case
from axnb.loading import load
from axnb.plans import Plan, Section, plan
from axnb.settings import Settings
from axnb.testing.logs import LogBuilder
from axnb.triaging import Question, Triage, triage
from tests.servers import PostgresServer

Row = tuple[Any, ...]


class Store(Protocol):
    """A log that may be changed."""

    source: str

    def run(self, script: str) -> None:
        """Run a script as a client does."""

    def rows(self, table: str = "conversation_log") -> list[Row]:
        """All of a table, byte for byte, in a stable order."""

    def replace(self, log: LogBuilder) -> None:
        """Let the store hold another log."""


class SqliteStore:
    """A SQLite file."""

    def __init__(self, path: Path) -> None:
        self.source = str(path)

    @classmethod
    def copy(cls, log: Path, folder: Path) -> SqliteStore:
        """A copy of a log, sidecars apart."""
        return cls(Path(shutil.copy(log, folder / "copy.sqlite")))

    def run(self, script: str) -> None:
        with closing(sqlite3.connect(self.source)) as connection:
            connection.executescript(script)

    def replace(self, log: LogBuilder) -> None:
        Path(self.source).unlink()
        log.write_sqlite(Path(self.source))

    def shell(self, script: str, *options: str) -> subprocess.CompletedProcess[bytes]:
        """Feed a script to the shell `sqlite3`."""
        command = ["sqlite3", *options, self.source]
        return subprocess.run(command, input=script.encode(), capture_output=True, check=False)

    def rows(self, table: str = "conversation_log") -> list[Row]:
        with closing(sqlite3.connect(self.source)) as connection:
            names = [c[1] for c in connection.execute(f"pragma table_info({table})")]
            columns = ", ".join(f"typeof({name}), cast({name} as blob)" for name in names)
            found = connection.execute(f"select {columns} from {table}").fetchall()
        return sorted(found, key=repr)


class PostgresStore:
    """A database of a real server."""

    def __init__(
        self, server: PostgresServer, schema: str = "public", dsn: str | None = None
    ) -> None:
        self.dsn = dsn or server.create_database()
        self.schema = schema
        self.source = f"{self.dsn}?schema={quote(schema)}"

    def run(self, script: str) -> None:
        import psycopg

        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(script.encode())

    def clear(self) -> None:
        """Drop the schema with all that is in it."""
        from psycopg import sql

        self.run(f"drop schema {sql.Identifier(self.schema).as_string()} cascade")

    def replace(self, log: LogBuilder) -> None:
        from psycopg import sql

        table = sql.Identifier(self.schema, "conversation_log").as_string()
        self.run(f"drop table {table}")
        log.write_postgres(self.dsn, self.schema)

    def rows(self, table: str = "conversation_log") -> list[Row]:
        import psycopg
        from psycopg import sql

        query = sql.SQL("select * from {}").format(sql.Identifier(self.schema, table))
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return sorted(connection.execute(query).fetchall(), key=repr)


def ask(store: Store, question: Question, conversation: str | None = None) -> tuple[Triage, Plan]:
    """Triage a store and plan for it."""
    with Case(settings=Settings()) as case:
        load(case, [store.source])
        answer = triage(case, question, [conversation] if conversation else [])
        return answer, plan(case, answer)


def changing(found: Plan) -> list[Section]:
    """The sections that change the store."""
    return [section for section in found.sections if section.statements]


def apply(store: Store, found: Plan) -> None:
    """Run a whole plan, sections that wait for a person included."""
    store.run(found.head + "".join(section.statements for section in changing(found)))


def undo(store: Store, found: Plan) -> None:
    """Undo a whole plan, the last section first."""
    store.run(found.head + "".join(section.undo for section in reversed(changing(found))))
