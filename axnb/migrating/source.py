"""The log that is taken over, as its reader has opened it: rows in the order of their commits."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from axnb.converting.process import Job, Search, Setup, convert_rows, frames, mentions
from axnb.converting.rows import USUAL, Frame, StoredRow, Tally, framed
from axnb.converting.worker import Worker
from axnb.errors import UsageError
from axnb.evidence.layout import EXECUTION_TABLE, LOG_TABLE
from axnb.text import sql_name

if TYPE_CHECKING:
    from axnb.evidence.postgres import PostgresReader
    from axnb.evidence.sqlite import SqliteReader

#: Smaller logs are converted sooner than other processes have begun.
_FEW_ROWS = 30_000
#: Rows of one range; each process takes the next one in turn.
_RANGE = 20_000
#: Rows that tell by which version a log was written last.
_NEWEST = 1_000

_DOUBLES = "select conversation_id, {0} from {1} group by 1, 2 having count(*) > 1 limit 1"
_KNOWN = ("conversation_id", "seq", "step", "payload")

#: A row of execution_log: exec_id, payload, timestamp, each as its store has it.
Execution = tuple[Any, Any, Any]


class Source(Protocol):
    """What a migration asks of a log."""

    @property
    def reader(self) -> SqliteReader | PostgresReader:
        """The reader that has the log open."""

    def mentions(self) -> Iterator[tuple[Any, Any]]:
        """(conversation_id, payload) of rows that may name an owner, as bytes or text."""

    def first_rows(self) -> Iterator[tuple[Any, Any, Any]]:
        """(conversation_id, step, payload) of the first row of each conversation."""

    def frames(self, setup: Setup, tally: Tally) -> Generator[Frame]:
        """All rows in the words of the target."""

    def executions(self) -> Iterator[Execution]:
        """The rows of G3's execution_log, in the order of their commits."""

    def other_columns(self) -> Iterator[tuple[str, int]]:
        """Columns that AX does not write, with how many rows have something in them."""

    def doubles(self) -> Iterator[tuple[Any, Any]]:
        """Keys that more than one row has."""

    def other_tables(self) -> list[str]:
        """Tables of the file that are no part of the log."""


class SqliteSource:
    """A log in a private copy of a SQLite file."""

    def __init__(self, reader: SqliteReader) -> None:
        self.reader = reader
        self._column = reader.layout.column

    def mentions(self) -> Iterator[tuple[Any, Any]]:
        """In this process, or in two where that is worth it."""
        ranges = self._ranges()
        jobs = [Search(*self._place(), share) for share in _shares(ranges)]
        if len(jobs) == 1:
            with self._translating():
                yield from chain.from_iterable(mentions(jobs[0]))
            return
        with ExitStack() as stack:
            workers = [stack.enter_context(Worker(job)) for job in jobs]
            for n in range(len(ranges)):
                yield from self._next(workers[n % len(workers)])

    def first_rows(self) -> Iterator[tuple[Any, Any, Any]]:
        """By number, as AX reads them."""
        usual = f"typeof(conversation_id) = 'text' and typeof({self._column}) = 'integer'"
        yield from self.reader.query(
            f"select l.conversation_id, l.{self._column}, l.payload from (select conversation_id "
            f"as id, min({self._column}) as first from {LOG_TABLE} where {usual} group by 1) f "
            f"join {LOG_TABLE} l on l.conversation_id = f.id and l.{self._column} = f.first"
        )

    def newest(self) -> Iterator[Any]:
        """Payloads of the last rows that were committed."""
        sql = (
            f"select payload from {self.reader.numbered_table} order by rowid desc limit {_NEWEST}"
        )
        for (payload,) in self.reader.query(sql):
            yield payload

    def frames(self, setup: Setup, tally: Tally) -> Generator[Frame]:
        """In this process, or in two where that is worth it; their pipes hold them back."""
        ranges = self._ranges()
        jobs = [Job(*self._place(), setup, share) for share in _shares(ranges)]
        if len(jobs) == 1:
            with self._translating():
                yield from chain.from_iterable(frames(jobs[0], tally))
            return
        with ExitStack() as stack:
            workers = [stack.enter_context(Worker(job)) for job in jobs]
            for n in range(len(ranges)):
                while (frame := self._next(workers[n % len(workers)])) is not None:
                    yield frame
            for worker in workers:
                tally.add(worker.read())

    def _place(self) -> tuple[Path, str]:
        return self.reader.database, self.reader.numbered_table

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as err:
            raise self.reader.translated(err) from err

    def _ranges(self) -> tuple[tuple[int, int], ...]:
        everything = ((-(2**63), 2**63 - 1),)
        rows = self.reader.count()
        # The numbers of a table without rowids are counted anew for each range.
        if rows < _FEW_ROWS or self.reader.numbered_table != LOG_TABLE:
            return everything
        ((least, most),) = self.reader.query(f"select min(rowid), max(rowid) from {LOG_TABLE}")
        width = max(1, (most - least + 1) * _RANGE // rows)
        return tuple(
            (first, min(first + width - 1, most)) for first in range(least, most + 1, width)
        )

    def _next(self, worker: Worker) -> Any:
        found = worker.read()
        if isinstance(found, str):
            raise self.reader.translated(sqlite3.DatabaseError(found))
        return found

    def executions(self) -> Iterator[Execution]:
        """As SQLite has them, each with its class."""
        if self.reader.layout.has_executions:
            yield from self.reader.query(
                f"select exec_id, payload, timestamp from {EXECUTION_TABLE} order by rowid"
            )

    def other_columns(self) -> Iterator[tuple[str, int]]:
        """Columns beside those of AX."""
        for name in self.reader.columns:
            if name not in (*_KNOWN[:1], self._column, _KNOWN[-1]):
                ((filled,),) = self.reader.query(f"select count({sql_name(name)}) from {LOG_TABLE}")
                yield name, filled

    def doubles(self) -> Iterator[tuple[Any, Any]]:
        """Keys that more than one row has."""
        yield from self.reader.query(_DOUBLES.format(self._column, LOG_TABLE))

    def other_tables(self) -> list[str]:
        """Tables and views."""
        found = self.reader.query(
            "select cast(name as text) from sqlite_master where type in ('table', 'view')"
        )
        names = [raw.decode(errors="backslashreplace") for (raw,) in found]
        known = {LOG_TABLE, EXECUTION_TABLE} if self.reader.layout.has_executions else {LOG_TABLE}
        return sorted(n for n in names if n.lower() not in known and not n.startswith("sqlite_"))


class PostgresSource:
    """A log in PostgreSQL, in one transaction that only reads."""

    def __init__(self, reader: PostgresReader) -> None:
        self.reader = reader
        self._column = reader.layout.column
        self._log, self._executions = reader.tables
        kinds = reader.types
        if kinds[self._column] not in ("smallint", "integer", "bigint"):
            raise UsageError(f"{reader.place} numbers its rows as {kinds[self._column]}.")
        if kinds["payload"] == "bytea":
            raise UsageError(f"{reader.place} keeps its payloads as bytea, which AX does not.")
        if reader.encoding == "SQL_ASCII":
            raise UsageError(f"{reader.place} has texts in no known encoding (SQL_ASCII).")

    def mentions(self) -> Iterator[tuple[Any, Any]]:
        """Found by the server."""
        found = self.reader.query(
            f"select conversation_id::text, payload::text from {self._log} "
            r"where payload::text ~ 'harness|agent|\\u'"
        )
        for conversation_id, payload in found:
            yield _raw(conversation_id), payload

    def first_rows(self) -> Iterator[tuple[Any, Any, Any]]:
        """By number, as AX reads them."""
        found = self.reader.query(
            f"select distinct on (conversation_id) conversation_id::text, {self._column}::bigint, "
            f"payload::text from {self._log} order by conversation_id, {self._column}"
        )
        for conversation_id, step, payload in found:
            yield _raw(conversation_id), step, payload

    def frames(self, setup: Setup, tally: Tally) -> Generator[Frame]:
        """In the order in which they lie in the table."""
        for held in framed(self._rows()):
            yield convert_rows(held, setup, tally)

    def _rows(self) -> Iterator[StoredRow]:
        found = self.reader.query(
            f"select conversation_id::text, {self._column}::bigint, payload::text from {self._log} "
            "order by tableoid, ctid"
        )
        for number, (conversation_id, step, payload) in enumerate(found, 1):
            values = (conversation_id, step, payload)
            kinds = USUAL.split(b",")
            classes = b""
            if None in values:
                classes = b",".join(
                    b"null" if v is None else k for v, k in zip(values, kinds, strict=True)
                )
            yield StoredRow(number, _raw(conversation_id), step, _raw(payload), classes)

    def executions(self) -> Iterator[Execution]:
        """With times in the words in which AX writes them into SQLite."""
        if self.reader.layout.has_executions:
            yield from self.reader.query(
                'select exec_id::text, payload::text, to_char("timestamp"::timestamptz at time '
                "zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US \"+0000 UTC\"') "
                f"from {self._executions} order by tableoid, ctid"
            )

    def other_columns(self) -> Iterator[tuple[str, int]]:
        """Columns beside those of AX."""
        for name in self.reader.types:
            if name not in (*_KNOWN[:1], self._column, _KNOWN[-1]):
                ((filled,),) = self.reader.query(f"select count({sql_name(name)}) from {self._log}")
                yield name, filled

    def doubles(self) -> Iterator[tuple[Any, Any]]:
        """Keys that more than one row has."""
        yield from self.reader.query(_DOUBLES.format(self._column, self._log))

    def other_tables(self) -> list[str]:
        """A database is no file: what else lies in it is nobody's concern here."""
        return []


def _raw(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _shares(ranges: tuple[tuple[int, int], ...]) -> list[tuple[tuple[int, int], ...]]:
    """The ranges of each process, which take them in turn."""
    number = min(2, os.cpu_count() or 1, len(ranges))
    return [ranges[n::number] for n in range(number)]
