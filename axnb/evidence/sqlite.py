"""Read an event log from a SQLite file: from a private copy, with nothing taken on trust.

SQLite columns are not typed, so a row whose values have the classes that AX writes goes the fast
way, and every other row is handed on value by value.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from axnb.case.custody import PrivateCopy
from axnb.errors import DamagedError, NotALogError, SourceError
from axnb.evidence.layout import EXECUTION_TABLE, KNOWN_TABLES, LOG_TABLE, Layout, recognise
from axnb.evidence.locators import SqliteLocator
from axnb.evidence.migrators import MIGRATORS, told_versions
from axnb.evidence.reader import MAX_FAST_BYTES, MAX_ROW_BYTES, ExecutionRow, OddRow
from axnb.evidence.wal import check_wal

_MAGIC = b"SQLite format 3\x00"
# The driver counts the rows of a batch and not their bytes, so large ones come by another way.
_BATCH_ROWS = 4096
_BATCH_BYTES = 4 << 20
_USUAL_BYTES = 64 << 10


class SqliteReader:
    """An event log in a SQLite file; a context manager.

    Raises NotALogError for what is no AX log, SourceError for what cannot be read.
    """

    kind = "eventlog"

    def __init__(
        self, path: Path, *, live: bool = False, wal: str | None = None, scratch: Path | None = None
    ) -> None:
        self.place = str(SqliteLocator(path))
        self.locator = str(SqliteLocator(path.resolve()))
        self._wal_choice = wal
        self._live = live
        self.notes: list[str] = []
        self.incomplete: list[str] = []
        _refuse_non_database(path)
        # SQLite keeps the sidecars beside the file itself, not beside a link to it.
        self._copy = PrivateCopy(path.resolve(), live=live, scratch=scratch)

    def __enter__(self) -> SqliteReader:
        copy = self._copy.__enter__()
        try:
            if not self._live:
                self.incomplete += check_wal(copy.path, self._wal_choice, self.place)
            self._connection = sqlite3.connect(copy.path, check_same_thread=False)
            self._connection.text_factory = bytes
            self.layout = self._recognise()
            self.notes += self.layout.notes
            self._payload = self._payload_as_blob()
            self._table = self._numbered_table()
        except BaseException as err:
            self.__exit__()
            if isinstance(err, sqlite3.DatabaseError):
                raise self.translated(err) from err
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()
        self._copy.__exit__()

    def translated(self, error: Exception) -> SourceError:
        """An error of SQLite in our words."""
        if isinstance(error, SourceError):
            return error
        if "malformed" in str(error):
            return DamagedError(f"{self.place} is damaged: {error}.")
        return SourceError(f"{self.place} cannot be read as SQLite: {error}.")

    # --- what the source is --------------------------------------------------------------------

    def _query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return list(self.query(sql, values))

    def _recognise(self) -> Layout:
        tables: dict[str, list[str]] = {}
        keys: list[str] = []
        names = "select cast(name as text) from sqlite_master where type='table'"
        for (raw,) in self._query(names):
            # SQLite's names have no case; AX finds its table under any.
            name = raw.decode(errors="backslashreplace").lower()
            tables[name] = []
            # Any other table may be virtual, of a module that is not here.
            if name in KNOWN_TABLES or name in MIGRATORS:
                info = self._query(f"pragma table_info({name})")
                tables[name] = [column[1].decode().lower() for column in info]
                if name == LOG_TABLE:
                    keys = [column[1].decode().lower() for column in info if column[5]]
                    self._columns = tables[name]
        hint = "; if a -wal file belongs to it, deliver it as well"
        layout = recognise(self.place, tables, keys, hint)
        told = told_versions(tables, "the file", self._query)
        self.notes += told.notes
        self.incomplete += told.incomplete
        return layout

    def _payload_as_blob(self) -> str:
        """The payload as UTF-8 bytes; in a UTF-16 database a text is converted by SQLite."""
        ((encoding,),) = self._query("pragma encoding")
        return (
            "cast(payload as blob)"
            if encoding == b"UTF-8"
            else "cast(cast(payload as text) as blob)"
        )

    def _numbered_table(self) -> str:
        """The log with a column `rowid`, SQLite's number of a row, whatever its columns are called.

        A table WITHOUT ROWID is numbered in the order of its key.
        """
        for alias in ("rowid", "_rowid_", "oid"):
            if alias in self._columns:
                continue
            try:
                self._query(f"select {alias} from {LOG_TABLE} limit 1")
            except SourceError:
                break
            if alias == "rowid":
                return LOG_TABLE
            return f"(select {alias} as rowid, {self._needed()} from {LOG_TABLE})"
        return f"(select row_number() over () as rowid, {self._needed()} from {LOG_TABLE})"

    def _needed(self) -> str:
        return f"conversation_id, {self.layout.column}, payload"

    @property
    def database(self) -> Path:
        """The private copy; it is there until `finish`."""
        return self._copy.path

    @property
    def columns(self) -> list[str]:
        """The columns of the log, in order."""
        return self._columns

    @property
    def numbered_table(self) -> str:
        """What stands for the log in SQL with a column `rowid`."""
        return self._table

    def query(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement over the private copy, texts as bytes. Raises SourceError."""
        try:
            yield from self._connection.execute(sql, values)
        except sqlite3.DatabaseError as err:
            raise self.translated(err) from err

    def count(self) -> int:
        """How many rows the table claims to have (SQLite answers from an index)."""
        return self._claimed

    def size(self) -> int:
        """The size of the database, with what lies in a -wal yet."""
        database = self._copy.path
        parts = (database, database.with_name(f"{database.name}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    @cached_property
    def _claimed(self) -> int:
        # The copy is ours and does not move: one scan of the index is enough.
        ((count,),) = self._query(f"select count(*) from {LOG_TABLE}")
        return int(count)

    # --- rows ----------------------------------------------------------------------------------

    def _regular(self, *, above: int = -1, up_to: int = MAX_FAST_BYTES) -> str:
        """Rows whose values have the storage classes that AX writes, by the size of the payload."""
        return (
            "typeof(conversation_id) = 'text' and typeof("
            f"{self.layout.column}) = 'integer' and typeof(payload) = 'text' "
            f"and length(cast(payload as blob)) between {above + 1} and {up_to}"
        )

    def fast_batches(self, conversation: str | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of (row, conversation_id, step, payload) of the regular rows, as bytes."""
        columns = f"rowid as row, conversation_id, {self.layout.column} as step, payload"
        of_one = "" if conversation is None else " and conversation_id = ?"
        values = () if conversation is None else (conversation,)
        sql = f"select {columns} from {self._table} where %s{of_one}"
        handed_on = 0
        for batch in self._usual_batches(sql % self._regular(up_to=_USUAL_BYTES), values):
            handed_on += batch.num_rows
            yield batch
        # Another scan of the table takes its time, and hardly a log has a large row.
        if handed_on != self.count():
            yield from self._large_batches(sql % self._regular(above=_USUAL_BYTES), values)

    def _usual_batches(self, sql: str, values: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import adbc_driver_sqlite
        from adbc_driver_manager import AdbcConnection, AdbcDatabase, AdbcStatement

        uri = self._copy.path.resolve().as_uri()
        # Not by its DB-API module, which imports pandas: that takes longer than a small log.
        with (
            AdbcDatabase(driver=adbc_driver_sqlite._driver_path(), uri=uri) as database,
            AdbcConnection(database) as connection,
            AdbcStatement(connection) as statement,
        ):
            statement.set_options(**{"adbc.sqlite.query.batch_rows": str(self._batch_rows())})
            statement.set_sql_query(sql)
            if values:
                bound = [pa.array([value]) for value in values]
                statement.bind(pa.record_batch(bound, names=[str(n) for n in range(len(bound))]))
            stream, _ = statement.execute_query()
            # The driver guesses types from the first batch; an empty one has none that fit.
            yield from filter(len, pa.RecordBatchReader.from_stream(stream))

    def _batch_rows(self) -> int:
        """How many rows of a mean size make a batch of a few MB."""
        mean = self.size() // max(1, self.count())
        return max(64, min(_BATCH_ROWS, _BATCH_BYTES // max(1, mean)))

    def _large_batches(self, sql: str, values: Sequence[str]) -> Iterator[pa.RecordBatch]:
        held: list[tuple[Any, ...]] = []
        size = 0
        for found in self._connection.execute(sql, values):
            held.append(found)
            size += len(found[3])
            if size >= _BATCH_BYTES:
                yield _batch(held)
                held, size = [], 0
        if held:
            yield _batch(held)

    def odd_rows(
        self, conversation: str | None = None, rows: Sequence[int] = ()
    ) -> Iterator[OddRow]:
        """All other rows, and those that the fast way gave back by their number."""
        column = self.layout.column
        sql = (
            f"select rowid, typeof(conversation_id), cast(conversation_id as blob), "
            f"typeof({column}), cast({column} as text), typeof(payload), "
            f"length(cast(payload as blob)), case when length(cast(payload as blob)) <= "
            f"{MAX_ROW_BYTES} then {self._payload} end from {self._table}"
        )
        where = f"not ({self._regular()})"
        values: tuple[Any, ...] = ()
        if conversation is not None:
            where = f"({where}) and cast(conversation_id as blob) = cast(? as blob)"
            values = (conversation,)
        try:
            for found in self._connection.execute(f"{sql} where {where}", values):
                yield self._with_digest(_odd_row(found))
        except sqlite3.DatabaseError as err:
            raise self.translated(err) from err
        for row in rows:
            yield from map(_odd_row, self._query(f"{sql} where rowid = ?", (row,)))

    def _with_digest(self, odd: OddRow) -> OddRow:
        """A row that is too large to be handed on, with the digest of what lies in the file."""
        if odd.size <= MAX_ROW_BYTES or self._table != LOG_TABLE:
            return odd
        digest = hashlib.sha256()
        with self._connection.blobopen(LOG_TABLE, "payload", odd.row, readonly=True) as blob:
            while piece := blob.read(1 << 20):
                digest.update(piece)
        return replace(odd, digest=digest.digest())

    def recovered_rows(self) -> Iterator[OddRow]:
        """Every row, one at a time, from a table with damaged pages.

        The index names the rows; one whose page cannot be read comes without a payload. Then come
        the rows that the index does not name.
        """
        seen = set()
        for rowid, id_class, conversation_id, step_class, step in self._index_keys():
            seen.add(rowid)
            try:
                found = self.odd_rows_at(rowid)
            except SourceError:
                found = []
            yield from found or [
                OddRow(
                    row=rowid,
                    id_class=id_class.decode(),
                    conversation_id=conversation_id,
                    step_class=step_class.decode(),
                    step=None if step is None else step.decode(),
                    payload_class="text",
                    size=0,
                    payload=None,
                    problem="the page that holds it is damaged",
                )
            ]
        for rowid in self._table_rowids():
            if rowid not in seen:
                yield from self.odd_rows_at(rowid)

    def _index_keys(self) -> list[tuple[Any, ...]]:
        """Keys as the index of the primary key has them; none if it cannot be read."""
        column = self.layout.column
        try:
            return self._query(
                f"select rowid, typeof(conversation_id), cast(conversation_id as blob), "
                f"typeof({column}), cast({column} as text) "
                f"from {LOG_TABLE} indexed by sqlite_autoindex_{LOG_TABLE}_1"
            )
        except SourceError:
            return []

    def _table_rowids(self) -> Iterator[int]:
        """Row numbers as the table has them, up to the first damage."""
        try:
            for (rowid,) in self._connection.execute(f"select rowid from {LOG_TABLE} not indexed"):
                yield rowid
        except sqlite3.DatabaseError:
            return

    def odd_rows_at(self, row: int) -> list[OddRow]:
        """One row by its rowid."""
        column = self.layout.column
        return [
            _odd_row(found)
            for found in self._query(
                f"select rowid, typeof(conversation_id), cast(conversation_id as blob), "
                f"typeof({column}), cast({column} as text), typeof(payload), length(cast(payload "
                f"as blob)), {self._payload} from {self._table} where rowid = ?",
                (row,),
            )
        ]

    def executions(self) -> Iterator[ExecutionRow]:
        """Rows of execution_log in the order in which G3 reads them."""
        if not self.layout.has_executions:
            return
        for row, exec_id, payload, timestamp in self._query(
            f"select rowid, cast(exec_id as blob), cast(payload as blob), "
            f"cast(timestamp as text) from {EXECUTION_TABLE} order by timestamp, rowid"
        ):
            yield ExecutionRow(
                row=row,
                exec_id=(exec_id or b"").decode(errors="replace"),
                payload=payload or b"",
                recorded_at=None if timestamp is None else timestamp.decode(errors="replace"),
            )

    def finish(self) -> None:
        """No more rows will be asked for: the source can be compared meanwhile."""
        self._connection.close()
        self._copy.finish()

    def custody(self) -> dict[str, Any]:
        """Hashes of what was read; raises SourceChangedError if the source moved."""
        return self._copy.verify()


def _refuse_non_database(path: Path) -> None:
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise NotALogError(f"{path} is a folder; name the database file in it.")
        if not path.is_file():
            raise NotALogError(f"{path} is no file.")
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        raise SourceError(f"{path} does not exist.") from None
    except OSError as err:
        raise SourceError(f"{path} cannot be read: {err.strerror}.") from err
    if size == 0:
        raise NotALogError(f"{path} has 0 bytes: a copy that failed, not an empty log.")
    if head != _MAGIC:
        raise NotALogError(f"{path} has no SQLite header ({size:,} bytes of something else).")


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    types = (pa.int64(), pa.binary(), pa.int64(), pa.binary())
    typed = zip(zip(*rows, strict=True), types, strict=True)
    columns = [pa.array(values, kind) for values, kind in typed]
    return pa.RecordBatch.from_arrays(columns, names=["row", "conversation_id", "step", "payload"])


def _odd_row(found: tuple[Any, ...]) -> OddRow:
    row, id_class, conversation_id, step_class, step, payload_class, size, payload = found
    return OddRow(
        row=row,
        id_class=id_class.decode(),
        conversation_id=conversation_id,
        step_class=step_class.decode(),
        step=None if step is None else step.decode(errors="replace"),
        payload_class=payload_class.decode(),
        size=size or 0,
        payload=payload,
    )
