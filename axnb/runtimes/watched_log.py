"""Short looks at a log that a server writes: how many rows, and whether a turn is open.

Of payloads nothing but the state is read. Nothing is written, and no lock is held for longer than a
read: not even a hot journal is rolled back, since that is the server's to do. Where one is there,
the rows are read from a copy.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axnb.ax import protojson, rows
from axnb.ax.versions import Generation

_PENDING = rows.STATES.index("STATE_PENDING")
_TABLE = "conversation_log"

#: A copy of a larger file would take longer than a look may.
_MAX_COPY = 256 << 20

#: How long a read waits for a writer that commits.
_BUSY_SECONDS = 1.0

Row = tuple[Any, ...]
Query = Callable[[str, tuple[Any, ...]], list[Row]]


@dataclass(frozen=True)
class Look:
    """What was seen. `conversations`: rows of each, and whether its last state is PENDING."""

    conversations: dict[str, tuple[int, bool]] = field(default_factory=dict)
    #: Was an append begun that nobody will end?
    is_cut: bool = False


class WatchedLog:
    """A log by its path or DSN. What cannot be read now is as it was at the last look."""

    def __init__(self, log: str, generation: Generation) -> None:
        self._log = log
        self._generation = generation
        #: Of each conversation: its rows, its last number, and the state of the last row with one.
        self._known: dict[str, tuple[int, int, int]] = {}
        self._server: Any = None

    def look(self, *, is_alone: bool) -> Look:
        """Look once; `is_alone` says that no server can be writing."""
        is_cut = False
        if "://" in self._log:
            self._look_at_postgres()
        else:
            is_cut = self._look_at_file(Path(self._log), is_alone)
        told = {name: (n, state == _PENDING) for name, (n, _, state) in self._known.items()}
        return Look(told, is_cut)

    # --- stores --------------------------------------------------------------------------------

    def _look_at_file(self, path: Path, is_alone: bool) -> bool:
        if not path.exists():
            return False
        is_cut = is_alone and Path(f"{path}-journal").exists()
        try:
            self._read_file(path, "ro")
        except sqlite3.OperationalError as err:
            if err.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                self._read_copy(path)
                return True
        except sqlite3.DatabaseError:
            pass  # the server has to say that
        return is_cut

    def _read_file(self, path: Path, mode: str) -> None:
        place = f"{path.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(place, uri=True, timeout=_BUSY_SECONDS)) as log:
            self._update(lambda sql, given: log.execute(sql, given).fetchall(), "?")

    def _read_copy(self, path: Path) -> None:
        """Read what was committed: the copy is rolled back, the log is left as it is."""
        if path.stat().st_size > _MAX_COPY:
            return
        with tempfile.TemporaryDirectory(prefix="axnb-watchdog-") as folder:
            copy = Path(folder) / "log.sqlite"
            try:
                for end in ("", "-journal"):
                    shutil.copyfile(f"{path}{end}", f"{copy}{end}")
            except FileNotFoundError:
                return  # a server was quicker to roll it back: the next look sees that
            try:
                self._read_file(copy, "rw")
            except sqlite3.DatabaseError:
                return

    def _look_at_postgres(self) -> None:
        import psycopg

        try:
            if self._server is None:
                read_only = "-c default_transaction_read_only=on"
                self._server = psycopg.connect(self._log, autocommit=True, options=read_only)
            server = self._server
            self._update(lambda sql, given: server.execute(sql.encode(), given).fetchall(), "%s")
        except psycopg.Error:
            # Not there yet, or gone: the server has to say that.
            if self._server is not None:
                self._server.close()
            self._server = None

    # --- rows ----------------------------------------------------------------------------------

    def _update(self, query: Query, mark: str) -> None:
        """Read the states of what is new. A log that was put in the place of another is new."""
        column = self._column(query, mark)
        if column is None:
            self._known.clear()
            return
        counted = query(
            f"SELECT conversation_id, count(*), max({column}) FROM {_TABLE} GROUP BY 1", ()
        )
        now: dict[str, tuple[int, int, int]] = {}
        for name, number, last in counted:
            known = self._known.get(name, (0, -1, 0))
            if known[:2] != (number, last):
                # Rows that are gone, or lie before what was read: read all again.
                grew = number > known[0] and last > known[1]
                state = self._state(query, mark, column, name, known if grew else (0, -1, 0))
                known = number, last, state
            now[name] = known
        self._known = now

    def _column(self, query: Query, mark: str) -> str | None:
        """The column that numbers the rows now: an upgrade renames it. None without a table."""
        if mark == "?":
            names = {row[1] for row in query(f"PRAGMA table_info({_TABLE})", ())}
        else:
            names = {
                row[0]
                for row in query(
                    "SELECT column_name FROM information_schema.columns WHERE table_name = %s",
                    (_TABLE,),
                )
            }
        own = self._generation.step_column
        return next((name for name in (own, "step", "seq") if name in names), None)

    def _state(
        self, query: Query, mark: str, column: str, name: str, known: tuple[int, int, int]
    ) -> int:
        """The last state that says anything, of the rows after those that are known."""
        sql = (
            f"SELECT payload FROM {_TABLE} WHERE conversation_id = {mark} AND {column} > {mark}"
            f" ORDER BY {column}"
        )
        found = self._states(payload for (payload,) in query(sql, (name, known[1])))
        return next((state for state in reversed(found) if state), known[2])

    def _states(self, payloads: Iterable[Any]) -> list[int]:
        states = []
        for payload in payloads:
            try:
                tree = protojson.parse(payload)
            except (protojson.PayloadError, TypeError):
                continue
            states.append(rows.reading(tree, self._generation).state)
        return states
