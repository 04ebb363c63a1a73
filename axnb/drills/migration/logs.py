"""The rows of a scratch log, read beside the server that writes it, and put into it.

Every log here is a copy of the drill's own: a SQLite file or a database of a scratch PostgreSQL.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from axnb.ax import protojson, rows
from axnb.ax.rows import READS_SHAPE, Part, Row
from axnb.ax.versions import GENERATIONS
from axnb.runtimes.files import usable

_TABLE = "conversation_log"
_PENDING = rows.STATES.index("STATE_PENDING")


@dataclass(frozen=True)
class StoredRow:
    """A row as it lies in the table."""

    step: int
    payload: bytes

    def decoded(self, column: str) -> LoggedRow:
        """The row as its own generation reads it; without content where that cannot."""
        try:
            text = self.payload.decode()
            found = rows.shape(protojson.parse(text), column)
            return LoggedRow(self.step, found, rows.read(text, GENERATIONS[READS_SHAPE[found]]))
        except (UnicodeDecodeError, protojson.PayloadError):
            return LoggedRow(self.step, "", None)


@dataclass(frozen=True)
class LoggedRow:
    """A row with what it says, whoever wrote it."""

    step: int
    #: What its keys say of its generation, as `axnb.ax.rows.shape`; empty where it is unreadable.
    shape: str
    row: Row | None

    @property
    def state(self) -> int:
        """AX's number of its state; 0 where it names none."""
        return self.row.state if self.row else 0

    @property
    def owner(self) -> str:
        """The owner that it names; empty without one."""
        return self.row.owner if self.row else ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What it holds."""
        return self.row.parts if self.row else ()

    @property
    def is_end(self) -> bool:
        """Does it end a turn?"""
        return self.state > _PENDING

    @property
    def mark(self) -> str:
        """`input`, `end`, or the kind of its first part."""
        if self.is_end:
            return "end"
        is_users = any(part.kind == "text" and part.role == "user" for part in self.parts)
        if self.owner or is_users:
            return "input"
        return self.parts[0].kind if self.parts else "empty"


class ScratchLog:
    """A log by its path or DSN."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.column = self._column()

    @usable("the scratch log")
    def _column(self) -> str:
        with self._opened() as query:
            if "://" in self.log:
                names = {
                    name
                    for (name,) in query(
                        "SELECT column_name FROM information_schema.columns WHERE table_name = %s",
                        (_TABLE,),
                    )
                }
            else:
                names = {found[1].decode() for found in query(f"PRAGMA table_info({_TABLE})", ())}
        return next(name for name in ("step", "seq") if name in names)

    @usable("the scratch log")
    def rows(self, conversation_id: str) -> tuple[StoredRow, ...]:
        """The rows of one conversation, in order."""
        mark = "%s" if "://" in self.log else "?"
        sql = (
            f"SELECT {self.column}, payload FROM {_TABLE} WHERE conversation_id = {mark} "
            f"ORDER BY {self.column}"
        )
        with self._opened() as query:
            found = query(sql, (conversation_id,))
            return tuple(StoredRow(step, _bytes(payload)) for step, payload in found)

    @usable("the scratch log")
    def digests(self) -> dict[str, str]:
        """Of every conversation one digest over the steps and texts of its rows."""
        sql = f"SELECT conversation_id, {self.column}, payload FROM {_TABLE} ORDER BY 1, 2"
        found: dict[str, str] = {}
        with self._opened() as query:
            for name, group in groupby(query(sql, ()), key=lambda row: row[0]):
                digest = hashlib.sha256()
                for _, step, payload in group:
                    digest.update(f"{step} {len(_bytes(payload))} ".encode())
                    digest.update(_bytes(payload))
                found[_name(name)] = digest.hexdigest()
        return found

    @usable("the scratch log")
    def append(self, conversation_id: str, payloads: Sequence[tuple[int, str]]) -> None:
        """Put rows of the drill's own into the log."""
        mark = "%s" if "://" in self.log else "?"
        sql = (
            f"INSERT INTO {_TABLE} (conversation_id, {self.column}, payload) "
            f"VALUES ({mark}, {mark}, {mark})"
        )
        values = [(conversation_id, step, payload) for step, payload in payloads]
        if "://" in self.log:
            import psycopg

            with psycopg.connect(self.log) as server, server.cursor() as cursor:
                cursor.executemany(sql.encode(), values)
            return
        with closing(sqlite3.connect(self.log)) as file, file:
            file.executemany(sql, values)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """What runs a query and gives its rows one after the other."""
        if "://" in self.log:
            import psycopg

            with psycopg.connect(self.log) as server, server.cursor("axnb_rows") as cursor:
                yield lambda sql, given: cursor.execute(sql.encode(), given)
            return
        with closing(sqlite3.connect(self.log)) as file:
            # A row may hold bytes that are no UTF-8.
            file.text_factory = bytes
            yield file.execute


def _bytes(payload: Any) -> bytes:
    return payload if isinstance(payload, bytes) else str(payload).encode(errors="surrogateescape")


def _name(name: Any) -> str:
    return name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name)
