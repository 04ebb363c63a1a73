"""Take a scratch log from one generation to another in its place, as `axnb migrate` does in a copy.

It is for logs that a rehearsal has written itself: every part of them has a place in every
generation.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from axnb.ax.conversion import TARGETS, convert
from axnb.ax.versions import GENERATIONS, Generation
from axnb.errors import AxnbError
from axnb.runtimes.files import usable

_TABLE = "conversation_log"

_Row = tuple[str, int, str]


@usable("the log that is to be taken over")
def carry(log: str, old: Generation, new: Generation) -> None:
    """Rewrite the log in the words of `new`; `log` is a path or a DSN. One transaction.

    Raises AxnbError if it cannot be done; the log is as it was then.
    """
    if "://" in log:
        import psycopg

        with psycopg.connect(log) as server:
            found = server.execute(_read(old).encode()).fetchall()
            for statement in _rebuild(new):
                server.execute(statement.encode())
            with server.cursor() as cursor:
                cursor.executemany(_insert(new, "%s").encode(), _carried(found, old, new))
        return
    with closing(sqlite3.connect(log, isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")
        found = file.execute(_read(old)).fetchall()
        for statement in _rebuild(new):
            file.execute(statement)
        file.executemany(_insert(new, "?"), _carried(found, old, new))
        file.execute("COMMIT")


def _read(old: Generation) -> str:
    return f"SELECT conversation_id, {old.step_column}, payload FROM {_TABLE} ORDER BY 1, 2"


def _rebuild(new: Generation) -> list[str]:
    column = new.step_column
    return [
        f"DROP TABLE {_TABLE}",
        f"CREATE TABLE {_TABLE} (conversation_id TEXT NOT NULL, {column} INTEGER NOT NULL,"
        f" payload TEXT NOT NULL, PRIMARY KEY (conversation_id, {column}))",
    ]


def _insert(new: Generation, mark: str) -> str:
    columns = f"conversation_id, {new.step_column}, payload"
    return f"INSERT INTO {_TABLE} ({columns}) VALUES ({mark}, {mark}, {mark})"


def _carried(found: list[_Row], old: Generation, new: Generation) -> list[_Row]:
    # G5 and G5b write the same rows; only what they store of a default harness differs.
    target = new if new.name in TARGETS else GENERATIONS["G5b"]
    carried = []
    for conversation_id, step, payload in found:
        row = convert(payload, old.step_column, step, target)
        if row.reason:
            raise AxnbError(f"the log that is to be taken over holds a row that {new.name} cannot.")
        carried.append((conversation_id, step, row.text))
    return carried
