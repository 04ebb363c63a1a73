"""The event log in PostgreSQL: READ COMMITTED, and no lock at all, as AX has it.

Two servers that append to one conversation in the same instant take the same number; the second
one's insert fails with SQLSTATE 23505, and AX only warns of it. Texts of errors are those of AX's
driver (pgx).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from axnb.ax.versions import Generation
from axnb.errors import UsageError
from axnb.runtimes.embedded.store import LogError, Payload, create_table
from axnb.runtimes.failpoints import reach

if TYPE_CHECKING:
    from psycopg import Connection, Error

#: Connections that Go's database/sql keeps when nobody uses them.
_IDLE = 2

#: How long AX waits for the first answer, in seconds.
_PING_SECONDS = 30


class PostgresStore:
    """An event log in a PostgreSQL database. Any thread may use it."""

    def __init__(self, dsn: str, generation: Generation) -> None:
        """Raises UsageError without the driver, LogError if the database does not answer."""
        try:
            import psycopg
        except ImportError:
            raise UsageError("a log in PostgreSQL needs the package psycopg.") from None
        self._psycopg = psycopg
        self._dsn = dsn
        self._column = generation.step_column
        self._closed = False
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        with self._connected("open") as connection:
            connection.execute(create_table(generation).encode())

    def read(self, conversation_id: str) -> list[tuple[int, bytes]]:
        """Numbers and payloads of a conversation, in order."""
        with self._connected("query conversation") as connection:
            query = (
                f"SELECT {self._column}, payload FROM conversation_log"
                f" WHERE conversation_id = %s ORDER BY {self._column}"
            )
            rows = connection.execute(query.encode(), (conversation_id,)).fetchall()
            return [(int(step), str(payload).encode()) for step, payload in rows]

    def append(self, conversation_id: str, payload: Payload, kind: str) -> int:
        """Append a row and return its number; `kind` is what a failpoint is told."""
        with self._connected("begin tx") as connection:
            connection.execute(b"BEGIN")
            reach("server.append.begun", kind=kind)
            with self._named(f"compute {self._column}"):
                query = (
                    f"SELECT COALESCE(MAX({self._column}), 0) + 1 FROM conversation_log"
                    " WHERE conversation_id = %s"
                )
                found = connection.execute(query.encode(), (conversation_id,)).fetchone()
            assert found is not None
            number = int(found[0])
            reach("server.append.numbered", kind=kind)
            with self._named("insert conversation"):
                insert = (
                    f"INSERT INTO conversation_log (conversation_id, {self._column}, payload)"
                    " VALUES (%s, %s, %s)"
                )
                values = (conversation_id, number, payload(number))
                connection.execute(insert.encode(), values)
            reach("server.append.inserted", kind=kind)
            with self._named("commit"):
                connection.execute(b"COMMIT")
            reach("server.append.committed", kind=kind)
            return number

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation's rows."""
        with self._connected("delete conversation") as connection:
            connection.execute(
                b"DELETE FROM conversation_log WHERE conversation_id = %s", (conversation_id,)
            )

    def close(self) -> None:
        """Let nobody read or write any more."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _connected(self, action: str) -> Iterator[Connection]:
        """A connection of its own, given back unless something went wrong with it."""
        with self._named(action):
            connection = self._take(action)
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
        self._give(connection)

    def _take(self, action: str) -> Connection:
        with self._lock:
            if self._closed:
                raise LogError(f"eventlog: {action}: sql: database is closed")
            if self._idle:
                return self._idle.pop()
        return self._psycopg.connect(self._dsn, connect_timeout=_PING_SECONDS, autocommit=True)

    def _give(self, connection: Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def _named(self, action: str) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as err:
            raise LogError(f"eventlog: {action}: {_driver_text(err)}") from err


def _driver_text(err: Error) -> str:
    """The error as AX's driver words it; one of the connection by its class only."""
    if err.sqlstate is None:
        return "failed to connect" if not err.diag.severity else "connection failed"
    return f"{err.diag.severity}: {err.diag.message_primary} (SQLSTATE {err.sqlstate})"
