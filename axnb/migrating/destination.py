"""Where a copy is written: whole or not at all, and never in the place of anything.

Tables are made by the statements of AX itself (`event-log.md` §1.1). What a table cannot hold as it
was is refused, with the row named.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from axnb.ax.versions import Generation
from axnb.case.custody import SIDECARS
from axnb.converting.process import shown
from axnb.converting.rows import Frame, Part, StoredRow
from axnb.errors import AxnbError, UsageError
from axnb.migrating.arrow_file import ArrowFile, Error, batch_of, one_row
from axnb.migrating.reading_back import read_part
from axnb.migrating.source import Execution

#: Set on the file that is written aside: it is synced once, at its end, and gone after an error.
_PRAGMAS = (
    "pragma journal_mode = off",
    "pragma synchronous = off",
    "pragma cache_size = -65536",
)

_EXECUTIONS = (
    "CREATE TABLE execution_log (exec_id TEXT NOT NULL, payload TEXT NOT NULL, "
    "timestamp {kind} NOT NULL)",
    "CREATE INDEX idx_execution_log_exec_id ON execution_log(exec_id)",
)


class RefusedRowError(AxnbError):
    """The target's table cannot hold a row as it is; nothing was written."""

    exit_code = 1


class Destination(Protocol):
    """What a migration asks of a copy that comes to be."""

    def __enter__(self) -> Destination: ...

    def __exit__(self, *error: object) -> None: ...

    def write(self, frame: Frame) -> None:
        """Write some rows. Raises RefusedRowError."""

    def clear(self) -> None:
        """Forget what was written."""

    def write_executions(self, found: Iterable[Execution]) -> int:
        """Carry an execution_log along; how many rows it has."""

    def read_back(self, written: Sequence[Part]) -> Iterator[tuple[int, bytes]]:
        """How many rows each frame has in the copy, and their digest."""

    def count(self) -> int:
        """How many rows the copy has."""

    def lost(self) -> dict[str, int]:
        """What its types could not hold of an execution_log, by path."""

    def finish(self) -> None:
        """Put the copy into its place."""


def log_table(target: Generation, name: str = "conversation_log") -> str:
    """AX's own statement for the log of a generation."""
    column = target.step_column
    return (
        f"CREATE TABLE {name} (conversation_id TEXT NOT NULL, {column} INTEGER NOT NULL, "
        f"payload TEXT NOT NULL, PRIMARY KEY (conversation_id, {column}))"
    )


def refused(row: StoredRow | tuple[Any, ...], why: str) -> RefusedRowError:
    """The error of a row that cannot be written."""
    return RefusedRowError(
        f"the row {shown(row[2])} of conversation {shown(row[1])} cannot stand in the table of the "
        f"target ({why}); nothing was written. A person must move what is there first."
    )


class SqliteDestination:
    """A SQLite file that does not exist yet."""

    def __init__(self, path: Path, target: Generation) -> None:
        self._path, self._target = path, target
        self.place = str(path)
        self._probe = _Probe(target)

    def __enter__(self) -> SqliteDestination:
        for suffix in SIDECARS:
            beside = self._path.with_name(self._path.name + suffix)
            if os.path.lexists(beside):
                raise UsageError(f"{beside} exists already: name a file that does not.")
        try:
            handle, aside = tempfile.mkstemp(
                prefix=f".{self._path.name}.", suffix=".part", dir=self._path.parent
            )
            os.close(handle)
        except OSError as err:
            raise AxnbError(f"{self._path} cannot be written: {err.strerror}.") from err
        self._aside = Path(aside).absolute()
        self._file = ArrowFile(str(self._aside))
        for statement in (*_PRAGMAS, log_table(self._target), "begin"):
            self._run(statement)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._probe.close()
        for suffix in SIDECARS:
            with suppress(FileNotFoundError):
                self._aside.with_name(self._aside.name + suffix).unlink()

    def _run(self, sql: str, rows: pa.RecordBatch | None = None) -> None:
        try:
            self._file.run(sql, rows)
        except Error as err:
            raise self._failed(err) from err

    def _failed(self, error: Exception) -> AxnbError:
        return AxnbError(f"{self._path} cannot be written: {error}.")

    def write(self, frame: Frame) -> None:
        """Rows keep their number in the file, which is the order of their commits."""
        insert = f"insert into conversation_log (rowid, {self._columns()}) values (?, %s)"
        try:
            self._file.run(insert % "?, ?, ?", batch_of(frame.usual))
            for row in frame.odd:
                self._probe.check(row)
                self._file.run(insert % _marks(row.classes), one_row(row[:4]))
        except Error as err:
            if "constraint failed" in str(err):
                raise self._conflict(frame) from None
            raise self._failed(err) from err

    def _columns(self) -> str:
        return f"conversation_id, {self._target.step_column}, payload"

    def _conflict(self, frame: Frame) -> AxnbError:
        """The row that is refused: its key is there already, in the file or in this frame."""
        seen: set[tuple[Any, Any]] = set()
        for row in (*frame.usual.one_by_one(), *frame.odd):
            key = (row[1], row[2])
            if key in seen or not self._is_new(row):
                return refused(row, "its key is there twice")
            seen.add(key)
        return AxnbError(f"{self._path} cannot be written: a row is refused.")

    def _is_new(self, row: tuple[Any, ...]) -> bool:
        """Is the row that lies under this key the row itself?"""
        found = self._file.read(
            "select rowid from conversation_log where cast(conversation_id as blob) = ? and "
            f"{self._target.step_column} = ?",
            *row[1:3],
        )
        return found.read_all()[0].to_pylist() in ([], [row[0]])

    def clear(self) -> None:
        """Begin again with an empty table."""
        self._run("delete from conversation_log")

    def write_executions(self, found: Iterable[Execution]) -> int:
        """As they are, in a table and an index of AX's own."""
        number = 0
        for number, row in enumerate(found, 1):
            if number == 1:
                for statement in _EXECUTIONS:
                    self._run(statement.format(kind="DATETIME"))
            marks = ", ".join("cast(? as text)" if isinstance(v, bytes) else "?" for v in row)
            self._run(f"insert into execution_log values ({marks})", one_row(row))
        return number

    def lost(self) -> dict[str, int]:
        """SQLite holds every value as it is."""
        return {}

    def read_back(self, written: Sequence[Part]) -> Iterator[tuple[int, bytes]]:
        """From the file, by two threads."""
        self._run("commit")
        read = partial(read_part, self._aside, self._target.step_column)
        with ThreadPoolExecutor(3) as threads:
            # The disk has something to do meanwhile; `finish` makes sure.
            threads.submit(self._flush)
            try:
                yield from threads.map(read, written)
            except (Error, sqlite3.Error) as err:
                raise AxnbError(f"{self._path} cannot be read back: {err}.") from err

    def _flush(self) -> None:
        with self._aside.open("rb+") as file:
            os.fsync(file.fileno())

    def count(self) -> int:
        """How many rows the file has."""
        found = self._file.read("select count(*) from conversation_log").read_all()
        return int(found[0][0].as_py())

    def finish(self) -> None:
        """To the disk, and into its place unless something has come to be there."""
        self._file.close()
        try:
            self._flush()
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(self._aside, 0o666 & ~mask)
            # Unlike a rename, a link never takes the place of a file.
            os.link(self._aside, self._path)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except FileExistsError:
            raise UsageError(f"{self._path} has come to be meanwhile; it was left alone.") from None
        except OSError as err:
            raise AxnbError(f"{self._path} cannot be written: {err.strerror}.") from err


def _marks(classes: bytes) -> str:
    """Texts are bytes, since not all of them are UTF-8; the store is told that they are texts."""
    return ", ".join("cast(? as text)" if c == b"text" else "?" for c in classes.split(b","))


class _Probe:
    """The target's table in memory: does it hold a row of odd classes as it is?"""

    def __init__(self, target: Generation) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(log_table(target))
        column = target.step_column
        self._asking = (
            f"select typeof(conversation_id) || ',' || typeof({column}) || ',' || typeof(payload) "
            "from conversation_log"
        )

    def close(self) -> None:
        self._connection.close()

    def check(self, row: StoredRow) -> None:
        """Raises RefusedRowError."""
        connection, marks = self._connection, _marks(row.classes)
        connection.execute("delete from conversation_log")
        try:
            connection.execute(f"insert into conversation_log values ({marks})", row[1:4])
        except sqlite3.IntegrityError:
            raise refused(row, f"its values are {row.classes.decode()}") from None
        ((classes,),) = connection.execute(self._asking).fetchall()
        if classes != row.classes.decode():
            raise refused(row, f"its values are {row.classes.decode()} and would be {classes}")


class NoDestination:
    """Nowhere: what would stand in the way of writing is found, and nothing is written."""

    def __init__(self, target: Generation, *, to_postgres: bool) -> None:
        self._probe = None if to_postgres else _Probe(target)

    def __enter__(self) -> NoDestination:
        return self

    def __exit__(self, *_: object) -> None:
        if self._probe is not None:
            self._probe.close()

    def write(self, frame: Frame) -> None:
        """Look at every row."""
        if self._probe is None:
            check_for_postgres(frame)
            return
        for row in frame.odd:
            self._probe.check(row)

    def clear(self) -> None:
        """There is nothing to forget."""

    def write_executions(self, found: Iterable[Execution]) -> int:
        """Count them."""
        return sum(1 for _ in found)

    def lost(self) -> dict[str, int]:
        """Nothing was written, so nothing was lost."""
        return {}

    def read_back(self, written: Sequence[Part]) -> Iterator[tuple[int, bytes]]:
        """There is nothing to read back."""
        yield from ()

    def count(self) -> int:
        """None was written."""
        return 0

    def finish(self) -> None:
        """Nothing is put anywhere."""


def check_for_postgres(frame: Frame) -> None:
    """Raises RefusedRowError for a row that PostgreSQL has no place for."""
    for odd in frame.odd:
        raise refused(odd, f"its values are {odd.classes.decode()}")
    for row in frame.usual.one_by_one():
        _, conversation_id, step, payload = row
        if not -(2**31) <= step < 2**31:
            raise refused(row, "its number is too large for PostgreSQL")
        if b"\0" in conversation_id or b"\0" in payload:
            raise refused(row, "PostgreSQL keeps no NUL")
        try:
            (conversation_id + payload).decode()
        except UnicodeDecodeError:
            raise refused(row, "a text is no UTF-8") from None
