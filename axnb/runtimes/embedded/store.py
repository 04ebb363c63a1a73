"""The event log, opened and appended as AX of each generation does it.

The table is made on every open, and no other way of another generation's file is looked at. An
append is one transaction: the lock, MAX + 1, the insert, the commit. AX sets no journal mode: it
is SQLite's rollback journal with synchronous FULL, and a writer waits 10 s for the lock. Texts of
errors are those of AX's own driver (modernc.org/sqlite), so a log of the server reads the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from axnb.ax.versions import Generation
from axnb.errors import AxnbError
from axnb.runtimes.failpoints import reach

#: How long AX waits for another writer, in seconds (`busy_timeout(10000)`).
BUSY_SECONDS = 10.0

#: What SQLite calls the codes that a log can meet; AX's driver puts this before the message.
_MEANINGS = {
    1: "SQL logic error",
    5: "database is locked",
    8: "attempt to write a readonly database",
    10: "disk I/O error",
    11: "database disk image is malformed",
    13: "database or disk is full",
    14: "unable to open database file",
    19: "constraint failed",
    26: "file is not a database",
}

#: Writes the payload once its number is known.
Payload = Callable[[int], str]


class LogError(AxnbError):
    """The log could not be read or written; the text is AX's own."""


class Store(Protocol):
    """An event log. Every method raises LogError, also after `close`."""

    def read(self, conversation_id: str) -> list[tuple[int, bytes]]:
        """Numbers and payloads of a conversation, in order."""

    def append(self, conversation_id: str, payload: Payload, kind: str) -> int:
        """Append a row and return its number; `kind` is what a failpoint is told."""

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation's rows, as AX does up to G6."""

    def close(self) -> None:
        """Let nobody read or write any more."""


def create_table(generation: Generation) -> str:
    """The statement that a server of `generation` sends on every open."""
    column = generation.step_column
    return (
        "CREATE TABLE IF NOT EXISTS conversation_log (conversation_id TEXT NOT NULL,"
        f" {column} INTEGER NOT NULL, payload TEXT NOT NULL,"
        f" PRIMARY KEY (conversation_id, {column}))"
    )


class SqliteStore:
    """An event log in a SQLite file. Any thread may use it: each operation has a connection."""

    def __init__(self, path: Path, generation: Generation) -> None:
        self._path = path
        self._column = generation.step_column
        self._closed = False
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with self._connected("open") as connection:
            connection.execute(create_table(generation))

    def read(self, conversation_id: str) -> list[tuple[int, bytes]]:
        """Numbers and payloads of a conversation, in order."""
        with self._connected("query conversation") as connection:
            rows = connection.execute(
                f"SELECT {self._column}, CAST(payload AS BLOB) FROM conversation_log"
                f" WHERE conversation_id = ? ORDER BY {self._column}",
                (conversation_id,),
            )
            # AX does not read the numbers; one that is none stays 0.
            return [(step if isinstance(step, int) else 0, payload) for step, payload in rows]

    def append(self, conversation_id: str, payload: Payload, kind: str) -> int:
        """Append a row and return its number; `kind` is what a failpoint is told."""
        with self._connected("begin tx") as connection:
            connection.execute("BEGIN IMMEDIATE")
            reach("server.append.begun", kind=kind)
            with _named(f"compute {self._column}"):
                found = connection.execute(
                    f"SELECT COALESCE(MAX({self._column}), 0) + 1 FROM conversation_log"
                    " WHERE conversation_id = ?",
                    (conversation_id,),
                ).fetchone()
            number = int(found[0])
            reach("server.append.numbered", kind=kind)
            with _named("insert conversation"):
                connection.execute(
                    f"INSERT INTO conversation_log (conversation_id, {self._column}, payload)"
                    " VALUES (?, ?, ?)",
                    (conversation_id, number, payload(number)),
                )
            reach("server.append.inserted", kind=kind)
            with _named("commit"):
                connection.execute("COMMIT")
            reach("server.append.committed", kind=kind)
            return number

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation's rows; their text stays in free pages of the file."""
        with self._connected("delete conversation") as connection:
            connection.execute(
                "DELETE FROM conversation_log WHERE conversation_id = ?", (conversation_id,)
            )

    def close(self) -> None:
        """Let nobody read or write any more."""
        self._closed = True

    @contextmanager
    def _connected(self, action: str) -> Iterator[sqlite3.Connection]:
        if self._closed:
            raise LogError(f"eventlog: {action}: sql: database is closed")
        with (
            _named(action),
            closing(
                sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
            ) as connection,
        ):
            yield connection


@contextmanager
def _named(action: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as err:
        raise LogError(f"eventlog: {action}: {_driver_text(err)}") from err


def _driver_text(err: sqlite3.Error) -> str:
    """The error as AX's driver words it: `SQL logic error: no such column: step (1)`."""
    code = getattr(err, "sqlite_errorcode", 1)
    meaning, message = _MEANINGS.get(code & 0xFF, "SQL logic error"), str(err)
    text = meaning if message == meaning else f"{meaning}: {message}"
    return f"{text} ({code})" + (" (SQLITE_BUSY)" if code == 5 else "")
