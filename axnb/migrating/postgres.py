"""A copy in PostgreSQL: tables that are not there yet, in one transaction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from axnb.ax.versions import Generation
from axnb.converting.rows import Frame, Part, StoredRow, framed, split
from axnb.errors import AxnbError, UnavailableError, UsageError
from axnb.evidence.locators import PostgresLocator, public_dsn
from axnb.migrating.destination import RefusedRowError, check_for_postgres, log_table
from axnb.migrating.source import Execution
from axnb.text import sql_name

#: How Go writes a time: PostgreSQL does not read the name of its zone, and keeps six digits.
_GO_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d+))? ?(Z|[+-]\d\d:?\d\d)?(?: [A-Z]+)?"
)
_TABLES = ("conversation_log", "execution_log")


class PostgresDestination:
    """Tables in a schema of a database that exists."""

    def __init__(self, locator: PostgresLocator, target: Generation) -> None:
        self._locator, self._target = locator, target
        self.place = public_dsn(locator.dsn)
        self._finer = 0

    def __enter__(self) -> PostgresDestination:
        try:
            import psycopg
        except ImportError:
            raise UsageError(
                "a log is written into PostgreSQL by psycopg: install axnb[postgres]."
            ) from None
        self._errors = psycopg.Error
        try:
            self._connection = psycopg.connect(self._locator.dsn)
        except psycopg.Error as err:
            raise UnavailableError(
                f"{self.place} cannot be reached or does not let us in."
            ) from err
        try:
            self._begin()
        except psycopg.Error as err:
            self._connection.close()
            raise self._failed(err) from None
        except BaseException:
            self._connection.close()
            raise
        return self

    def _begin(self) -> None:
        schema = self._ask("select current_schema()")[0][0]
        schema = self._locator.schema or schema
        if schema is None or not self._ask(
            "select from pg_namespace where nspname = %s", (schema,)
        ):
            raise UsageError(f"{self.place} has no such schema: create it first.")
        self.place = f"{self.place}?schema={schema}"
        found = self._ask(
            "select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
            "where n.nspname = %s and relname = any(%s)",
            (schema, list(_TABLES)),
        )
        if found:
            raise UsageError(f"{self.place} has a table {found[0][0]} already: name another place.")
        self._run("select set_config('search_path', %s, true)", (sql_name(schema),))
        self._run("set local timezone = 'UTC'")
        self._run(log_table(self._target))

    def _ask(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql.encode(), values or None).fetchall()

    def _run(self, sql: str, values: tuple[Any, ...] = ()) -> None:
        self._connection.execute(sql.encode(), values or None)

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _failed(self, error: Exception) -> AxnbError:
        """Never the server's own words, which may hold a row."""
        state = getattr(error, "sqlstate", None)
        if state == "23505":
            detail = getattr(getattr(error, "diag", None), "message_detail", None) or ""
            key = re.search(r"=\((.{0,80}?), (-?\d+)\)", detail)
            named = f"the row {key[2]} of conversation {key[1]}" if key else "a row"
            return RefusedRowError(
                f"{named} cannot stand in the table of the target (its key is there twice); "
                "nothing was written. A person must move what is there first."
            )
        reason = f"SQLSTATE {state}" if state else "the server does not answer"
        return AxnbError(f"{self.place} cannot be written: {reason}; nothing was kept.")

    def write(self, frame: Frame) -> None:
        """By COPY. Raises RefusedRowError for what PostgreSQL has no place for."""
        check_for_postgres(frame)
        sql = f"COPY conversation_log (conversation_id, {self._target.step_column}, payload)"
        try:
            with self._connection.cursor().copy(f"{sql} FROM STDIN".encode()) as copy:
                for _, conversation_id, step, payload in frame.usual.one_by_one():
                    copy.write_row((conversation_id.decode(), step, payload.decode()))
        except self._errors as err:
            raise self._failed(err) from None

    def clear(self) -> None:
        """Begin again with an empty table."""
        self._run("truncate conversation_log")

    def write_executions(self, found: Iterable[Execution]) -> int:
        """In a table and an index of AX's own; its times become PostgreSQL's."""
        number = 0
        try:
            for number, (exec_id, payload, time) in enumerate(found, 1):
                if number == 1:
                    self._run(
                        "CREATE TABLE execution_log (exec_id TEXT NOT NULL, payload TEXT NOT NULL, "
                        "timestamp TIMESTAMPTZ NOT NULL)"
                    )
                    self._run("CREATE INDEX idx_execution_log_exec_id ON execution_log(exec_id)")
                values = (_text(exec_id), _text(payload), self._time(_text(time)))
                self._run("insert into execution_log values (%s, %s, %s)", values)
        except self._errors as err:
            raise self._failed(err) from None
        except UnicodeDecodeError:
            raise RefusedRowError(
                f"row {number} of execution_log is no text in UTF-8, and PostgreSQL keeps no other."
            ) from None
        return number

    def _time(self, text: str) -> str:
        match = _GO_TIME.fullmatch(text)
        if match is None:
            return text
        moment, fraction, zone = match.groups(default="")
        self._finer += len(fraction.rstrip("0")) > 6
        return f"{moment}.{fraction[:6] or 0}{zone or 'Z'}"

    def lost(self) -> dict[str, int]:
        """Digits of times beyond the sixth."""
        return {"execution_log.timestamp": self._finer} if self._finer else {}

    def read_back(self, written: Sequence[Part]) -> Iterator[tuple[int, bytes]]:
        """In the same transaction."""
        rows = self._rows()
        for part in written:
            digest, number = part.begun.copy(), 0
            for held in framed(islice(rows, part.rows)):
                digest.add(*split(held))
                number += len(held)
            yield number, digest.digest()

    def count(self) -> int:
        """How many rows the table has."""
        return int(self._ask("select count(*) from conversation_log")[0][0])

    def _rows(self) -> Iterator[StoredRow]:
        """In the order in which they lie in the table, which is that of COPY."""
        sql = (
            f"select conversation_id, {self._target.step_column}, payload from conversation_log "
            "order by ctid"
        )
        try:
            with self._connection.cursor("copied") as cursor:
                cursor.itersize = 2_000
                for number, (name, step, payload) in enumerate(cursor.execute(sql.encode()), 1):
                    yield StoredRow(number, name.encode(), step, payload.encode(), b"")
        except self._errors as err:
            raise self._failed(err) from None

    def finish(self) -> None:
        """Commit."""
        try:
            self._connection.commit()
        except self._errors as err:
            raise self._failed(err) from None


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
