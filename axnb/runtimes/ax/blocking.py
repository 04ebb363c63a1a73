"""Keeping an append inside of its transaction, from outside of the server: with locks.

SQLite: who commits needs the file for itself, so a reader with a SHARED lock makes it wait, up to
its busy timeout (10 s in AX). PostgreSQL: `LOCK TABLE … IN SHARE MODE` lets others read and makes
an INSERT wait.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from axnb.errors import AxnbError

#: An append comes at once, or never.
_SECONDS = 8.0
_POLL_SECONDS = 0.005

#: Waits until an append is inside of its transaction, and cannot leave it.
Wait = Callable[[], None]


@contextmanager
def blocking(log: str) -> Iterator[Wait]:
    """Block appends to a log, a path or a DSN.

    `with blocking(log) as wait:` let an append begin, `wait()`, and kill the server.
    """
    yield from _postgres(log) if "://" in log else _sqlite(Path(log))


def _sqlite(path: Path) -> Iterator[Wait]:
    journal = path.with_name(f"{path.name}-journal")

    def wait() -> None:
        # The journal is made by the first page that is written, and goes with the commit, which
        # waits for us.
        _until(journal.exists)

    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM conversation_log").fetchone()
        yield wait


def _postgres(dsn: str) -> Iterator[Wait]:
    import psycopg

    with psycopg.connect(dsn) as holder, psycopg.connect(dsn, autocommit=True) as looker:
        holder.execute("LOCK TABLE conversation_log IN SHARE MODE")

        def waiting() -> list[int]:
            found = looker.execute(
                "SELECT pid FROM pg_locks WHERE NOT granted AND locktype = 'relation'"
                " AND relation = 'conversation_log'::regclass"
            )
            return [int(pid) for (pid,) in found.fetchall()]

        def is_busy(pid: int) -> bool:
            found = looker.execute(
                "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state <> 'idle'", (pid,)
            )
            return found.fetchone() is not None

        held: list[int] = []

        def wait() -> None:
            _until(lambda: bool(waiting()))
            held.extend(waiting())

        yield wait
        holder.rollback()
        # The session of a server that was killed notices it once it has its lock, and rolls back.
        _until(lambda: not any(map(is_busy, held)))


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise AxnbError("no append waited for the lock on the log.")
        time.sleep(_POLL_SECONDS)
