"""Take a scratch log from one generation to another, row by row, as its servers write them.

It is for logs that a rehearsal has written itself: every part of them has a place in every
generation. A user's log is taken over by a plan (`axnb triage --plan`).
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

from axnb.ax import rows
from axnb.ax.rows import Row
from axnb.ax.versions import Generation
from axnb.runtimes.files import usable

_TABLE = "conversation_log"

_ROLES = {"thought": "model", "tool_call": "model", "tool_result": "user"}


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


def _carried(
    found: list[tuple[str, int, str]], old: Generation, new: Generation
) -> list[tuple[str, int, str]]:
    return [
        (conversation_id, step, rows.write(_with_roles(rows.read(payload, old)), new, step))
        for conversation_id, step, payload in found
    ]


def _with_roles(row: Row) -> Row:
    """Steps have no roles for these; what they were follows from what they are."""
    parts = (replace(part, role=_ROLES.get(part.kind, part.role)) for part in row.parts)
    return replace(row, parts=tuple(parts))
