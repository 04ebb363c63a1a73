"""The case: one DuckDB file, or a private one that is gone with the process.

It is shared politely: opened for writing only while something is loaded, for reading in short
sessions. Nothing in it can reach outside: no extension is fetched, no file is read.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

import duckdb

from axnb.errors import CaseError, CaseLockedError, UsageError
from axnb.settings import Settings
from axnb.text import is_path, is_text

if TYPE_CHECKING:
    import pandas

#: A private case of a source that is larger than its memory by this factor goes to a file, and gets
#: by with a part of that memory: what it writes is not lost when it is let go of.
_OVERFULL = 1.25
_ENOUGH_FOR_A_FILE = 0.8

#: Up to so many bytes of a source, it takes longer to hand work from thread to thread than to do
#: it, and to prepare for large inputs than to read small ones.
_SMALL = 4 << 20
_FOR_LARGE_INPUTS = "join_filter_pushdown,compressed_materialization,common_subplan"

#: Up to so many, a query takes longer to make better than to run as it stands. Only what turns a
#: comparison into a join is needed always: else rows would be compared each with each other.
_TINY = 256 << 10
_ALWAYS = "filter_pushdown"

#: Raised when a table of the case changes its meaning.
SCHEMA_VERSION = "9"

#: What the system says of a file that its permissions keep closed.
_FORBIDDEN = ("Permission denied", "Read-only file system", "Operation not permitted")

#: How DuckDB says that Python was interrupted: in a query, a function of ours, or a stream of rows.
_INTERRUPTED = re.compile(
    "Query interrupted|Invalid Input Error: (Python exception occurred while executing the UDF|"
    "reading the stream registered as 'incoming' failed: [^{]*Python exception): KeyboardInterrupt"
)

_CONFIGURING = Lock()

_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")


#: Statements of the package by their text: to take a long one apart takes longer than to run it on
#: a small log. They belong to no connection.
_PARSED: dict[str, list[duckdb.Statement]] = {}


@cache
def sql_text(room: str, name: str) -> str:
    """A SQL file of the package, such as `sql_text("case", "schema.sql")`."""
    return files("axnb").joinpath(room, name).read_text(encoding="utf-8")


def statements(session: duckdb.DuckDBPyConnection, text: str) -> list[duckdb.Statement]:
    """The statements of a text of the package, which is parsed once."""
    if text not in _PARSED:
        _PARSED[text] = session.extract_statements(text)
    return _PARSED[text]


def has_rows(session: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Has a table any row? Planning a query takes longer than asking whether it is needed."""
    return bool(session.execute(f"select 1 from {table} limit 1").fetchall())


def run_sql(
    session: duckdb.DuckDBPyConnection, room: str, name: str, values: dict[str, Any] | None = None
) -> list[Any]:
    """Run the statements of a SQL file of the package; the rows of the last one.

    Each statement gets those of the named `values` that it uses.
    """
    found: list[Any] = []
    for statement in statements(session, sql_text(room, name)):
        used = {k: v for k, v in (values or {}).items() if k in statement.named_parameters}
        found = session.execute(statement, used or None).fetchall()
    return found


def ask(
    session: duckdb.DuckDBPyConnection, name: str, values: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The rows of one of the queries in `case/queries`, as dicts."""
    (statement,) = statements(session, sql_text("case", f"queries/{name}.sql"))
    result = session.execute(statement, values or None)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


class Case:
    """A case file (`Case(path)`) or a private case (`Case()`).

    Raises CaseLockedError if another process holds the file, CaseError if it is no case.
    """

    def __init__(self, path: Path | str | None = None, settings: Settings | None = None) -> None:
        if path is not None and ":/" in str(path):
            # An address in the wrong place may hold a password: it is not repeated.
            raise UsageError("a case is a file, and not an address.")
        if path is not None and not (is_path(str(path)) and is_text(str(path))):
            raise UsageError(f"DuckDB takes no file of the name {str(path)[:80]!r}.")
        self.path = Path(path) if path is not None else None
        self.settings = settings or Settings.read()
        self._spill = Path(tempfile.mkdtemp(prefix="axnb-spill-", dir=self.settings.scratch))
        weakref.finalize(self, shutil.rmtree, self._spill, ignore_errors=True)
        self._private: duckdb.DuckDBPyConnection | None = None
        #: Bytes of all sources that it was made ready for.
        self._size = 0
        #: A notebook reads from several threads: sessions of a private case, and whether it is to
        #: be let go of after the last of them.
        self._lock = RLock()
        self._sessions = 0
        self._is_closed = False
        if self.path is None:
            self._private = self._connect(":memory:", read_only=False)
            self._private.execute("set threads = 1")
            self._private.execute(f"set disabled_optimizers = '{_improving(self._private)}'")
            _fill(self._private)

    def make_room(self, size: int, *, whole: bool = True) -> None:
        """Get ready for one more source of about so many bytes, or for some part of one.

        A private case that cannot be kept in memory goes to a file of its own, which is gone with
        it: DuckDB would pack what it spills from memory, and that takes longer than writing it.
        """
        if self._private is None:
            return
        self._size += size
        if self._size > _SMALL:
            self._private.execute("reset threads")
            self._private.execute("reset disabled_optimizers")
        elif self._size > _TINY:
            self._private.execute(f"set disabled_optimizers = '{_FOR_LARGE_INPUTS}'")
        if not whole or size <= _OVERFULL * self.settings.memory_bytes:
            return
        file = self._spill / "case.duckdb"
        if file.exists() or self._private.execute("select * from sources").fetchall():
            return
        self._private.close()
        self._private = self._connect(str(file), read_only=False)
        enough = int(_ENOUGH_FOR_A_FILE * self.settings.memory_bytes)
        self._private.execute(f"set memory_limit = '{enough} B'")
        # Nobody wants it after this process, let alone after a crash of the machine.
        self._private.execute("set fsync_mode = 'NONE'")
        self._private.execute("pragma disable_checkpoint_on_shutdown")
        _fill(self._private)

    # --- sessions ------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A short session that cannot change the case."""
        if self._private is not None:
            session = self._cursor(self._private)
        elif self.path is None or not self.path.exists():
            raise CaseError(f"{self.path} does not exist; load a source into it first.")
        else:
            session = self._connect(str(self.path), read_only=True)
        try:
            if self._private is None:
                self._check(session)
            # A private case has no other guard; temporary tables are still possible.
            session.execute("begin transaction read only")
            with _interrupts():
                yield session
        finally:
            self._end(session)

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A session in one transaction: all of it is kept, or nothing."""
        if self._private is not None:
            session = self._cursor(self._private)
        else:
            session = self._connect(str(self.path), read_only=False)
        try:
            if self._private is None:
                self._create(session)
            session.execute("begin")
            try:
                with _interrupts():
                    yield session
            except BaseException:
                _roll_back(session)
                raise
            session.execute("commit")
        finally:
            self._end(session)

    def _cursor(self, private: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        # DuckDB refuses a second call on a connection instead of waiting for the first.
        with self._lock:
            if self._is_closed:
                raise CaseError("the case was closed, and what it held is gone.")
            session = private.cursor()
            self._sessions += 1
            return session

    def _end(self, session: duckdb.DuckDBPyConnection) -> None:
        session.close()
        if self._private is not None:
            with self._lock:
                self._sessions -= 1
                self._let_go()

    def _let_go(self) -> None:
        if self._is_closed and not self._sessions and self._private is not None:
            self._private.close()

    def _connect(self, database: str, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        config: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "memory_limit": self.settings.memory_limit,
            # Blocks come from one piece of memory, which is faster than asking for each.
            "block_allocator_memory": self.settings.memory_limit,
            "temp_directory": str(self._spill),
            "preserve_insertion_order": "false",
            # Agent output compresses well, but packing it costs more time than reading the log.
            "force_compression": "uncompressed",
        }
        try:
            connection = duckdb.connect(database, read_only=read_only, config=config)
        except duckdb.IOException as err:
            raise self._open_error(str(err)) from None
        except duckdb.ConnectionException:
            # One process opens a file for reading or for writing, and not for both.
            raise CaseLockedError(
                f"{database} is in use in this process: wait until that has ended, or stop it."
            ) from None
        except duckdb.Error as err:
            raise CaseError(f"{database} cannot be opened as a case.") from err
        _configure(connection, read_only=read_only)
        return connection

    def _open_error(self, message: str) -> CaseError:
        if "Could not set lock" not in message:
            if any(told in message for told in _FORBIDDEN):
                return CaseError(
                    f"{self.path} cannot be opened: make the file and its folder writable, or use "
                    "another --case file."
                )
            if self.path is not None and not self.path.parent.is_dir():
                return CaseError(f"{self.path} cannot be made: its folder does not exist.")
            return CaseError(f"{self.path} cannot be opened as a case: it is no DuckDB file.")
        holder = _HOLDER.search(message)
        who = f"process {holder['pid']} ({Path(holder['program']).name})" if holder else "a process"
        return CaseLockedError(
            f"{self.path} is held by {who}: close it there, or use another --case file."
        )

    def _create(self, connection: duckdb.DuckDBPyConnection) -> None:
        if connection.execute("select count(*) from duckdb_tables()").fetchall() == [(0,)]:
            _fill(connection)
            define_links(connection)
            return
        self._check(connection)

    def _check(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Is this a case of this version? Raises CaseError if not."""
        tables = connection.execute("select table_name from duckdb_tables()").fetchall()
        if ("meta",) not in tables or ("sources",) not in tables:
            raise CaseError(f"{self.path} is a DuckDB file, but not a case of axnb.")
        version = connection.execute("select value from meta where name = 'schema'").fetchall()
        if version != [(SCHEMA_VERSION,)]:
            raise CaseError(
                f"{self.path} was written by another version of axnb; load the sources anew."
            )

    # --- answers -------------------------------------------------------------------------------

    def rows(self, query: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        """The rows of a query as tuples."""
        with self.reading() as session:
            return session.execute(query, values or None).fetchall()

    def frame(self, query: str, values: Sequence[Any] | dict[str, Any] = ()) -> pandas.DataFrame:
        """The rows of a query as a DataFrame."""
        with self.reading() as session:
            return session.execute(query, values or None).df()

    def close(self) -> None:
        """Let go of a private case after its last session; a case file needs no closing."""
        with self._lock:
            self._is_closed = True
            self._let_go()

    def __enter__(self) -> Case:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _interrupts() -> Iterator[None]:
    """A person's interrupt, which DuckDB hands on in words of its own."""
    try:
        yield
    except (duckdb.Error, RuntimeError) as err:
        if _INTERRUPTED.match(str(err)):
            raise KeyboardInterrupt from None
        raise


def _fill(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of a new case."""
    run_sql(connection, "case", "schema.sql")
    connection.execute("insert into meta values ('schema', ?)", [SCHEMA_VERSION])


def _improving(connection: duckdb.DuckDBPyConnection) -> str:
    """What makes a query better, and is not needed to run it."""
    found = connection.execute("select name from duckdb_optimizers()").fetchall()
    return ",".join(name for (name,) in found if name != _ALWAYS)


def define_links(session: duckdb.DuckDBPyConnection) -> None:
    """Define the views of what belongs to what.

    A case file has them from the beginning. In a private case whoever loads a bucket or records
    does it: it takes longer than to read a small log.
    """
    run_sql(session, "case", "links.sql")


def _configure(connection: duckdb.DuckDBPyConnection, *, read_only: bool) -> None:
    """Let nothing in a session reach outside.

    Sessions of one file share a configuration: the first of them sets it, in whatever thread.
    """
    with _CONFIGURING:
        if _setting(connection, "lock_configuration"):
            return
        connection.execute("set enable_external_access = false")
        connection.execute("set python_enable_replacements = false")
        _silence_progress(connection)
        if read_only:
            # A person's query must not change it, nor have a log of queries written somewhere.
            connection.execute("set lock_configuration = true")


def _setting(connection: duckdb.DuckDBPyConnection, name: str) -> Any:
    ((value,),) = connection.execute("select current_setting(?)", [name]).fetchall()
    return value


def _silence_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """In a notebook DuckDB draws a progress widget, which is dead in a saved one.

    Without ipywidgets it draws none, and the setting cannot be changed.
    """
    if _setting(connection, "enable_progress_bar"):
        connection.execute("set enable_progress_bar = false")


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    try:
        connection.execute("rollback")
    except duckdb.Error:
        # The transaction is gone already; what it did is undone either way.
        return
