"""Load an event log into a case: land, decode what is left, derive; all of it or nothing."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import duckdb
import pyarrow as pa

from axnb.ax import protojson, schemas
from axnb.case.case import Case, run_sql
from axnb.case.derive import derive
from axnb.errors import AxnbError, CancelledError, DamagedError, SourceError
from axnb.evidence.careful import CarefulPath, place_odd_rows
from axnb.evidence.locators import PostgresLocator, SqliteLocator
from axnb.evidence.reader import LogReader
from axnb.evidence.screen import Screen
from axnb.settings import Settings

_TABLES = (
    "events",
    "rejects",
    "readings",
    "executions",
    "turns",
    "questions",
    "tool_calls",
    "orphan_results",
    "conversations",
    "findings",
    "sources",
)


_EXECUTIONS = pa.schema(
    [
        ("source", pa.string()),
        ("row", pa.int64()),
        ("exec_id", pa.string()),
        ("agent_id", pa.string()),
        ("state", pa.int32()),
        ("recorded_at", pa.string()),
        ("digest", pa.binary()),
    ]
)


#: Rows of the other family of content that are landed at a time.
_CHUNK = 50_000

#: Seconds to wait before a read that a server cancelled is tried again; then axnb gives up.
_PAUSES = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class LoadOptions:
    """How a source is read: only one conversation (PostgreSQL), a live file, a misfit -wal."""

    conversation: str | None = None
    live: bool = False
    wal: str | None = None


def open_reader(
    locator: SqliteLocator | PostgresLocator, options: LoadOptions, settings: Settings
) -> LogReader:
    """The reader for a locator."""
    if isinstance(locator, SqliteLocator):
        from axnb.evidence.sqlite import SqliteReader

        return SqliteReader(
            locator.path, live=options.live, wal=options.wal, scratch=settings.scratch
        )
    from axnb.evidence.postgres import PostgresReader

    return PostgresReader(locator, statement_timeout=settings.statement_timeout)


def load_log(
    case: Case,
    locator: SqliteLocator | PostgresLocator,
    options: LoadOptions | None = None,
    progress: Callable[[int], None] | None = None,
    after: Callable[[duckdb.DuckDBPyConnection, str], None] | None = None,
) -> str:
    """Load one event log and return the name of its source in the case.

    A source that is loaded again replaces what was there. `progress` is called with the number of
    rows read so far, `after` with the session and the source before all of it is committed.
    Raises SourceError; then the case is as it was before.
    """
    options = options or LoadOptions()
    if isinstance(locator, SqliteLocator):
        # The whole file is copied anyway, and a conversation is judged best within its log.
        options = replace(options, conversation=None)
    for pause in (*_PAUSES, None):
        try:
            with open_reader(locator, options, case.settings) as reader, case.writing() as session:
                source = _source_name(session, reader.locator)
                _forget(session, source)
                _Load(session, case.settings, reader, source, options, progress).run()
                if after is not None:
                    after(session, source)
                return source
        except duckdb.OutOfMemoryException as err:
            raise AxnbError(
                f"the log needs more memory than {case.settings.memory_limit}: raise memory_limit "
                "in axnb.toml."
            ) from err
        except CancelledError:
            # Each try takes a new snapshot and starts over: parts of two would fit no moment.
            if pause is None:
                raise
            time.sleep(pause)
    raise AssertionError("unreachable")


def _source_name(session: duckdb.DuckDBPyConnection, locator: str) -> str:
    """`log`, `log-2`, …; the same locator keeps its name."""
    known = dict(session.execute("select locator, source from sources").fetchall())
    if locator in known:
        return str(known[locator])
    taken = set(known.values())
    names = ("log" if n == 1 else f"log-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _forget(session: duckdb.DuckDBPyConnection, source: str) -> None:
    for table in _TABLES:
        session.execute(f"delete from {table} where source = ?", [source])


class _Load:
    """One load: what its steps share."""

    def __init__(
        self,
        session: duckdb.DuckDBPyConnection,
        settings: Settings,
        reader: LogReader,
        source: str,
        options: LoadOptions,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._session = session
        self._settings = settings
        self._reader = reader
        self._source = source
        self._options = options
        self._progress = progress
        self._careful = CarefulPath(session, source, reader.layout.column)
        self._notes = list(reader.notes)
        self._incomplete = list(reader.incomplete)
        self._source_error: SourceError | None = None

    def run(self) -> None:
        run_sql(self._session, "evidence", "landing/macros.sql")
        self._land()
        read = self._count("events") + self._count("rejects")
        executions, executions_rejected = self._land_executions()
        if executions_rejected:
            self._incomplete.append(
                f"{executions_rejected} of {executions} rows of execution_log could not be read."
            )
        self._reader.finish()
        derive(self._session, self._source, self._settings.tools)
        custody = self._reader.custody()
        self._session.execute(
            "insert into sources values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                self._source,
                self._reader.kind,
                self._reader.locator,
                self._reader.layout.column,
                self._reader.layout.variant,
                read,
                self._count("events"),
                self._count("rejects"),
                executions,
                executions_rejected,
                self._options.conversation,
                json.dumps(custody, sort_keys=True),
                self._notes,
                self._incomplete,
            ],
        )

    def _count(self, table: str) -> int:
        found = self._session.execute(
            f"select count(*) from {table} where source = ?", [self._source]
        ).fetchall()
        return int(found[0][0])

    # --- landing -------------------------------------------------------------------------------

    def _land(self) -> None:
        screen = Screen()
        conversation = self._options.conversation
        try:
            batches = self._counted(self._reader.fast_batches(conversation))
            self._land_batches(screen, batches)
            odd = self._reader.odd_rows(conversation, screen.set_aside)
            self._careful.take(place_odd_rows(odd))
            self._careful.take_refused()
            damaged = conversation is None and not self._is_whole()
        except DamagedError:
            damaged = True
        if damaged:
            self._recover()

    def _is_whole(self) -> bool:
        """Is every row there once? A damaged page can drop rows, or give others twice."""
        ((rows, distinct),) = run_sql(
            self._session, "evidence", "landing/count_rows.sql", {"source": self._source}
        )
        return bool(rows == distinct == self._reader.count())

    def _land_batches(self, screen: Screen, batches: Iterator[pa.RecordBatch]) -> None:
        """The fast path, by the family of content that the table's first rows hold."""
        first = next(batches, None)
        if first is None:
            return
        family = _family(self._reader.layout.column, first)
        self._land_family(family, screen.reader(chain([first], batches)))
        other = "steps" if family == "messages" else "messages"
        if other == "steps" and self._reader.layout.column == "seq":
            return
        for table in self._refused_of(other):
            self._land_family(other, Screen().reader(iter(table.to_batches())))

    def _land_family(self, family: str, incoming: pa.RecordBatchReader) -> None:
        self._session.register("incoming", incoming)
        try:
            values = {"source": self._source}
            run_sql(self._session, "evidence", f"landing/{family}.sql", values)
        except duckdb.Error:
            # An error of the source passes through DuckDB, which wraps it in its own.
            if self._source_error is not None:
                raise self._source_error from None
            raise
        finally:
            # After an error the transaction is over, and nothing is registered any more.
            with suppress(duckdb.Error):
                self._session.unregister("incoming")

    def _refused_of(self, family: str) -> Iterator[pa.Table]:
        """Take refused rows of the other family out of `events` again, some at a time."""
        values = {"source": self._source, "family": family}
        ((count,),) = run_sql(self._session, "evidence", "landing/take_refused.sql", values)
        for start in range(1, count + 1, _CHUNK):
            query = (
                'select "row", conversation_id, step, payload from refused where n between ? and ?'
            )
            found = self._session.sql(query, params=[start, start + _CHUNK - 1])
            yield found.to_arrow_table()
        self._session.execute("drop table refused")

    def _counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read = 0
        while True:
            try:
                batch = next(batches, None)
            except Exception as err:
                self._source_error = self._reader.translated(err)
                raise self._source_error from err
            if batch is None:
                return
            read += batch.num_rows
            if self._progress is not None:
                self._progress(read)
            yield batch

    def _recover(self) -> None:
        """A damaged page ends every scan; row by row, what lies outside of it can be read.

        An error has ended the transaction, so a new one begins, from what the case held before.
        """
        self._session.execute("rollback")
        self._session.execute("begin")
        run_sql(self._session, "evidence", "landing/macros.sql")
        _forget(self._session, self._source)
        self._careful.take(place_odd_rows(self._reader.recovered_rows()))
        lost = self._session.execute(
            "select count(*) from rejects where source = ? and reason = 'damaged'", [self._source]
        ).fetchall()[0][0]
        self._incomplete.append(
            f"The log has damaged pages: {lost} rows are named by its index and cannot be read."
        )

    def _land_executions(self) -> tuple[int, int]:
        read = rejected = 0
        found = []
        message = schemas.message("g3", "ExecutionEvent")
        for execution in self._reader.executions():
            read += 1
            event = None
            with suppress(protojson.PayloadError, UnicodeDecodeError):
                event = protojson.decode(protojson.parse(execution.payload.decode()), message)
            if event is None:
                rejected += 1
            found.append(
                {
                    "source": self._source,
                    "row": execution.row,
                    "exec_id": execution.exec_id,
                    "agent_id": None if event is None else event.get("agent_id"),
                    "state": None if event is None else event.get("state", 0),
                    "recorded_at": execution.recorded_at,
                    "digest": hashlib.sha256(execution.payload).digest(),
                }
            )
        if found:
            self._session.register("incoming", pa.Table.from_pylist(found, schema=_EXECUTIONS))
            self._session.execute("insert into executions by name select * from incoming")
            self._session.unregister("incoming")
        return read, rejected


def _family(column: str, batch: pa.RecordBatch) -> str:
    """`messages` or `steps`: what most of the first rows hold, where the column leaves it open."""
    if column == "seq":
        return "messages"
    payloads = batch.column(3).slice(0, 100).cast(pa.binary()).to_pylist()
    steps = sum(b'"messages"' not in p and b'"step"' not in p for p in payloads)
    return "steps" if steps * 2 >= len(payloads) else "messages"
