"""Load an event log into a case: land, decode what is left, derive; all of it or nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import chain

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import PythonUDFType
from duckdb.sqltypes import BIGINT, BOOLEAN, INTEGER, VARCHAR

from axnb.case.case import Case, run_sql
from axnb.case.derive import derive
from axnb.case.sources import source_name
from axnb.errors import AxnbError, CancelledError, DamagedError
from axnb.evidence.batches import ConversationNumbers, long_rows_together, one_insert_each
from axnb.evidence.careful import CarefulPath
from axnb.evidence.executions import land_executions
from axnb.evidence.families import FAMILIES, passes
from axnb.evidence.locators import PostgresLocator, SqliteLocator
from axnb.evidence.placing import place_odd_rows
from axnb.evidence.reader import LogReader
from axnb.evidence.refused import RefusedRows
from axnb.evidence.screen import are_strict, screened
from axnb.settings import Settings

_TABLES = (
    "conversation_numbers",
    "event_rows",
    "careful_parts",
    "rejects",
    "readings",
    "oddities",
    "compared",
    "tool_rules",
    "executions",
    "turns",
    "questions",
    "tool_calls",
    "orphan_results",
    "conversations",
    "owners",
    "row_shapes",
    "contexts",
    "config_settings",
    "drifts",
    "secrets",
    "findings",
    "sources",
)


#: How DuckDB begins to say that a text is no JSON.
_MALFORMED = "Malformed JSON"

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
    pauses = iter(_PAUSES)
    guarded = False
    while True:
        try:
            with open_reader(locator, options, case.settings) as reader:
                case.make_room(reader.size(), whole=options.conversation is None)
                with case.writing() as session:
                    source = source_name(session, reader.kind, reader.locator, "log")
                    _forget(session, source)
                    _Load(session, case.settings, reader, source, options, progress, guarded).run()
                    if after is not None:
                        after(session, source)
                    return source
        except _NoJsonError:
            guarded = True
        except duckdb.OutOfMemoryException as err:
            raise AxnbError(
                f"the log needs more memory than {case.settings.memory_limit}: raise memory_limit "
                "in axnb.toml."
            ) from err
        except CancelledError:
            # Each try takes a new snapshot and starts over: parts of two would fit no moment.
            pause = next(pauses, None)
            if pause is None:
                raise
            time.sleep(pause)


class _NoJsonError(Exception):
    """A row is no JSON, and the fast path was not on its guard: hardly a log has one."""


def _forget(session: duckdb.DuckDBPyConnection, source: str) -> None:
    if session.execute("select 1 from sources where source = ?", [source]).fetchall():
        for table in _TABLES:
            session.execute(f"delete from {table} where source = ?", [source])
    # What was made of all sources together is not true of others.
    kept = "name = 'schema' or (name = 'secret key' and exists (from secrets))"
    session.execute(f"delete from meta where not ({kept})")


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
        guarded: bool,
    ) -> None:
        self._session = session
        self._settings = settings
        self._reader = reader
        self._source = source
        self._options = options
        self._progress = progress
        self._guarded = guarded
        self._numbers = ConversationNumbers()
        self._careful = CarefulPath(session, source, reader.layout.column, self._numbers)
        self._notes = list(reader.notes)
        self._incomplete = list(reader.incomplete)
        self._source_error: AxnbError | None = None
        self._rows_read = 0
        self._last_row = 0
        #: Did every row so far come after the one before it? Then none came twice.
        self._is_ascending = True

    def run(self) -> None:
        self._define_macros()
        self._land()
        self._keep_numbers()
        parsed, rejected = self._count("event_rows"), self._count("rejects")
        executions, executions_rejected = land_executions(self._session, self._source, self._reader)
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
                parsed + rejected,
                parsed,
                rejected,
                executions,
                executions_rejected,
                self._options.conversation,
                json.dumps(custody, sort_keys=True),
                self._notes,
                self._incomplete,
            ],
        )

    def _define_macros(self) -> None:
        for name in ("macros", "guarded") if self._guarded else ("macros",):
            run_sql(self._session, "evidence", f"landing/{name}.sql")

    def _keep_numbers(self) -> None:
        self._session.register("numbers", self._numbers.table(self._source))
        self._session.execute("insert into conversation_numbers select * from numbers")
        self._session.unregister("numbers")

    def _count(self, table: str) -> int:
        found = self._session.execute(
            f"select count(*) from {table} where source = ?", [self._source]
        ).fetchall()
        return int(found[0][0])

    # --- landing -------------------------------------------------------------------------------

    def _land(self) -> None:
        conversation = self._options.conversation
        try:
            not_text = self._land_batches(self._counted(self._reader.fast_batches(conversation)))
            claimed = None if conversation is not None else self._reader.count()
            # Where every row went the fast way, no other is looked for: that takes another scan.
            if not_text or self._rows_read != claimed:
                self._careful.take(place_odd_rows(self._reader.odd_rows(conversation, not_text)))
            damaged = claimed is not None and not self._is_whole(claimed)
        except DamagedError:
            damaged = True
        if damaged:
            self._recover()

    def _is_whole(self, claimed: int) -> bool:
        """Is every row there once? A damaged page can drop rows, or give others twice."""
        landed = self._count("event_rows") + self._count("rejects")
        if landed != claimed:
            return False
        if self._is_ascending and self._rows_read == claimed:
            return True
        ((distinct,),) = run_sql(
            self._session, "evidence", "landing/count_rows.sql", {"source": self._source}
        )
        return bool(distinct == claimed)

    def _land_batches(self, batches: Iterator[pa.RecordBatch]) -> list[int]:
        """The fast path, and the careful one for what it refuses; the rows that are no text."""
        first = next(batches, None)
        if first is None:
            return []
        not_text: list[int] = []
        rows = self._numbers.numbered(chain([first], batches), not_text)
        with ExitStack() as stack:
            self._session.create_function(
                "is_strict", are_strict, [VARCHAR], BOOLEAN, type=PythonUDFType.ARROW
            )
            for family, respell in passes(self._reader.layout.column, first):
                statement, definitions = FAMILIES[family]
                if definitions is not None:
                    run_sql(self._session, "evidence", f"landing/{definitions}.sql")
                refused = stack.enter_context(RefusedRows(self._settings.scratch))
                self._session.create_function(
                    "set_aside",
                    refused.set_aside,
                    [BIGINT, INTEGER, BIGINT, VARCHAR],
                    BOOLEAN,
                    type=PythonUDFType.ARROW,
                    side_effects=True,
                )
                for group in one_insert_each(long_rows_together(rows)):
                    self._land_screened(statement, screened(group, not_text, respell=respell))
                self._session.remove_function("set_aside")
                rows = refused.batches()
                if not refused.count:
                    break
            self._session.remove_function("is_strict")
            self._careful.take_refused(rows)
        return not_text

    def _land_screened(self, statement: str, incoming: pa.RecordBatchReader) -> None:
        self._session.register("incoming", incoming)
        try:
            values = {"source": self._source}
            run_sql(self._session, "evidence", f"landing/{statement}.sql", values)
        except (duckdb.Error, UnicodeDecodeError) as err:
            # An error of the source passes through DuckDB, which wraps it in its own.
            if self._source_error is not None:
                raise self._source_error from None
            if not self._guarded and _MALFORMED in _message(err):
                raise _NoJsonError from None
            raise
        finally:
            # After an error the transaction is over, and nothing is registered any more.
            with suppress(duckdb.Error):
                self._session.unregister("incoming")

    def _counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = next(batches, None)
            except Exception as err:
                self._source_error = self._reader.translated(err)
                raise self._source_error from err
            if batch is None:
                return
            self._rows_read += batch.num_rows
            self._is_ascending &= _is_ascending(batch.column(0), self._last_row)
            self._last_row = batch.column(0)[-1].as_py()
            self._tell_progress()
            yield batch

    def _tell_progress(self) -> None:
        """Whoever looks on may stop the load by an error of axnb."""
        if self._progress is None:
            return
        try:
            self._progress(self._rows_read)
        except AxnbError as err:
            self._source_error = err
            raise

    def _recover(self) -> None:
        """A damaged page ends every scan; row by row, what lies outside of it can be read.

        An error has ended the transaction, so a new one begins, from what the case held before.
        """
        self._session.execute("rollback")
        self._session.execute("begin")
        self._define_macros()
        _forget(self._session, self._source)
        self._careful.take(place_odd_rows(self._reader.recovered_rows()))
        lost = self._session.execute(
            "select count(*) from rejects where source = ? and reason = 'damaged'", [self._source]
        ).fetchall()[0][0]
        self._incomplete.append(
            f"The log has damaged pages: {lost} rows are named by its index and cannot be read."
        )


def _is_ascending(rows: pa.Array, last: int) -> bool:
    """Is every number greater than the one before it, and the first one greater than the last?"""
    return bool(rows[0].as_py() > last and pc.all(pc.less(rows[:-1], rows[1:])).as_py())


def _message(error: duckdb.Error | UnicodeDecodeError) -> str:
    """What DuckDB says. It quotes a row up to some byte, which may be in the middle of a character:
    then its message is no text any more."""
    if isinstance(error, UnicodeDecodeError):
        return bytes(error.object).decode(errors="replace")
    return str(error)
