"""Read an event log from PostgreSQL: one transaction for everything, any schema, any column type.

A column of the type that AX gives it goes the fast way. What the server could not read as AX does
(bytes, numbers in text, NULLs where a key is missing) is handed on row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from axnb.errors import NotALogError, SourceError, UnavailableError
from axnb.evidence.layout import EXECUTION_TABLE, LOG_TABLE, Layout, recognise
from axnb.evidence.locators import PostgresLocator, public_dsn
from axnb.evidence.migrators import MIGRATORS, told_versions
from axnb.evidence.postgres_session import PostgresSession
from axnb.evidence.reader import MAX_FAST_BYTES, MAX_ROW_BYTES, ExecutionRow, OddRow
from axnb.text import cut_middle, safe, sql_name

_INTEGERS = ("smallint", "integer", "bigint")
_NUMBERS = ("numeric", "double precision", "real")

#: Where a row lies, partitions and all; the parameters find it again.
_PLACE = "tableoid::bigint::text || '/' || ctid::text"
_AT_PLACE = "tableoid = $1::bigint::oid and ctid = $2::tid"

_TABLES = """
select n.nspname, c.relname,
    array_agg(a.attname::text order by a.attnum),
    array_agg(format_type(a.atttypid, null) order by a.attnum),
    array_agg(coalesce(a.attnum = any (i.indkey), false) order by a.attnum),
    array_position(current_schemas(false), n.nspname)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_index i on i.indrelid = c.oid and i.indisprimary
where c.relkind in ('r', 'p') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
group by n.nspname, c.relname
"""

#: Table -> (columns, their types, whether each is part of the key).
_Tables = dict[str, tuple[list[str], list[str], list[bool]]]


class PostgresReader:
    """An event log in PostgreSQL; a context manager.

    Raises UnavailableError if the server cannot be read, NotALogError for what is no AX log.
    """

    kind = "eventlog"

    def __init__(self, locator: PostgresLocator, *, statement_timeout: int) -> None:
        self.place = self.locator = public_dsn(locator.dsn)
        self.notes: list[str] = []
        self.incomplete: list[str] = []
        self._locator = locator
        self._timeout = statement_timeout
        self._rows_handed_on = 0
        self._rows_seen = 0
        #: Places of the rows handed on, where one of them may have to be asked for again.
        self._places: list[str] = []

    def __enter__(self) -> PostgresReader:
        self._session = PostgresSession(self._locator.dsn, self.place, self._timeout)
        try:
            self.layout = self._recognise()
            self._look_for_policies()
            self._custody = self._session.custody() | {"schema": self._schema}
        except BaseException:
            self.__exit__()
            raise
        self.notes += self.layout.notes
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def translated(self, error: Exception) -> SourceError:
        """An error of the driver in our words."""
        return self._session.translated(error)

    # --- what the source is --------------------------------------------------------------------

    def _recognise(self) -> Layout:
        schemas: dict[str, _Tables] = {}
        order: dict[str, int | None] = {}
        for schema, table, columns, types, keys, position in self._session.query(_TABLES):
            schemas.setdefault(schema, {})[table] = (columns, types, keys)
            order[schema] = position
        self._schema = self._choose_schema(schemas, order)
        tables = schemas.get(self._schema, {})
        columns, types, keys = tables.get(LOG_TABLE, ([], [], []))
        layout = recognise(
            f"{self.place} schema {self._schema}",
            {name: found[0] for name, found in tables.items()},
            [column for column, key in zip(columns, keys, strict=True) if key],
        )
        self._types = dict(zip(columns, types, strict=True))
        names, kinds, _ = tables.get(EXECUTION_TABLE, ([], [], []))
        self._execution_types = dict(zip(names, kinds, strict=True))
        ((self._encoding,),) = self._session.query("select current_setting('server_encoding')")
        self.place = self._session.place = f"{self.place}?schema={quote(self._schema)}"
        self.locator = self.place
        self._log = f"{sql_name(self._schema)}.{sql_name(LOG_TABLE)}"
        self._executions = f"{sql_name(self._schema)}.{sql_name(EXECUTION_TABLE)}"
        self._look_for_versions({name: found[0] for name, found in tables.items()})
        return layout

    def _look_for_versions(self, tables: Mapping[str, Sequence[str]]) -> None:
        """What a migrator says of this schema, where the role may read its table."""

        def qualified(table: str) -> str:
            return f"{sql_name(self._schema)}.{sql_name(table)}"

        there = [name for name in MIGRATORS if name in tables]
        asked = "select has_table_privilege($1, 'select')"
        readable = {n: tables[n] for n in there if self._session.query(asked, [qualified(n)])[0][0]}
        place = f"schema {cut_middle(safe(self._schema), 40)}"
        told = told_versions(readable, place, self._session.query, qualified)
        self.notes += told.notes
        self.incomplete += told.incomplete

    def _choose_schema(
        self, schemas: Mapping[str, _Tables], order: Mapping[str, int | None]
    ) -> str:
        """The schema that was asked for, or that the search path finds first, as for AX itself."""
        if self._locator.schema is not None:
            return self._locator.schema
        holding = [name for name, tables in schemas.items() if LOG_TABLE in tables]
        on_path = sorted((at, name) for name in holding if (at := order[name]) is not None)
        if not holding:
            return min((name for name in order if order[name]), key=str, default="public")
        if not on_path and len(holding) > 1:
            raise NotALogError(
                f"{self.place} has a table conversation_log in the schemas "
                f"{', '.join(sorted(holding))}: add ?schema=NAME to the DSN."
            )
        chosen = on_path[0][1] if on_path else holding[0]
        if others := sorted(set(holding) - {chosen}):
            self.notes.append(
                f"conversation_log is also in the schemas {', '.join(others)}, which were not read."
            )
        return chosen

    def _look_for_policies(self) -> None:
        """Row-level security hides rows without a word; then the log may hold more."""
        ((hidden,),) = self._session.query(
            "select row_security_active(format('%I.%I', $1::text, $2::text)::regclass)",
            (self._schema, LOG_TABLE),
        )
        if hidden:
            self.incomplete.append(
                "The log is under row-level security: a policy may hide rows from this role."
            )

    @property
    def types(self) -> dict[str, str]:
        """The columns of the log, in order, with their types."""
        return self._types

    @property
    def encoding(self) -> str:
        """What the server calls the encoding of its texts."""
        return str(self._encoding)

    @property
    def tables(self) -> tuple[str, str]:
        """The log and its executions, quoted, with their schema."""
        return self._log, self._executions

    def query(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement in this transaction, streamed. Raises SourceError."""
        from adbc_driver_manager import Error

        try:
            for batch in self._session.stream(sql):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
        except (Error, OSError) as err:
            raise self.translated(err) from None

    def count(self) -> int:
        """How many rows the table has in this transaction's snapshot, known once they were read.

        A server hands on every row or ends in an error, and counting takes it another scan.
        """
        return self._rows_seen

    def size(self) -> int:
        """The size of the table with what lies outside of its rows."""
        ((size,),) = self._session.query(
            "select pg_table_size(format('%I.%I', $1::text, $2::text)::regclass)",
            (self._schema, LOG_TABLE),
        )
        return int(size)

    # --- how the columns are typed -------------------------------------------------------------

    def _id_matches(self) -> str:
        """The condition for one conversation; a cast would keep the server from its index."""
        is_text = self._types["conversation_id"] in ("text", "character varying")
        return f"{'conversation_id' if is_text else 'conversation_id::text'} = $1"

    def _step_class(self) -> str:
        """How the step column sorts: as numbers, or as text."""
        kind = self._types[self.layout.column]
        return "integer" if kind in _INTEGERS else "real" if kind in _NUMBERS else "text"

    def _payload(self) -> str:
        return "payload" if self._types["payload"] == "bytea" else "payload::text"

    def _may_hold_bytes(self) -> bool:
        return self._types["payload"] == "bytea" or self._encoding == "SQL_ASCII"

    def _regular(self) -> str:
        """Rows that can go the fast way: no NULL, a whole number for a step, a usual size."""
        if self._step_class() != "integer":
            return "false"
        return (
            f"conversation_id is not null and {self.layout.column} is not null "
            f"and payload is not null and octet_length({self._payload()}) <= {MAX_FAST_BYTES}"
        )

    # --- rows ----------------------------------------------------------------------------------

    def fast_batches(self, conversation: str | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of (row, conversation_id, step, payload) of the regular rows.

        PostgreSQL has no number for a row, so they are counted as they come.
        """
        number = f"{self.layout.column}::bigint" if self._step_class() == "integer" else "0::bigint"
        # Bytes may be no text; then the row is asked for again, by its place.
        place = f", {_PLACE} as place" if self._may_hold_bytes() else ""
        sql = (
            f"select conversation_id::text as conversation_id, {number} as step, case when "
            f"{self._regular()} then {self._payload()} end as payload{place} from {self._log}"
        )
        values: tuple[str, ...] = ()
        if conversation is not None:
            sql, values = f"{sql} where {self._id_matches()}", (conversation,)
        for batch in self._session.stream(sql, values):
            self._rows_seen += batch.num_rows
            if batch.column("payload").null_count:
                batch = batch.filter(batch.column("payload").is_valid())
            if not batch.num_rows:
                continue
            first = self._rows_handed_on + 1
            self._rows_handed_on += batch.num_rows
            rows = pa.arange(first, first + batch.num_rows)
            if place:
                self._places += batch.column("place").to_pylist()
            names = ["conversation_id", "step", "payload"]
            yield pa.RecordBatch.from_arrays(
                [rows, *(batch.column(name) for name in names)], ["row", *names]
            )

    def odd_rows(
        self, conversation: str | None = None, rows: Sequence[int] = ()
    ) -> Iterator[OddRow]:
        """All other rows, one at a time, and those that the fast way gave back by number."""
        sql = f"select {_PLACE} from {self._log} where not coalesce({self._regular()}, false)"
        values: tuple[str, ...] = ()
        if conversation is not None:
            sql, values = f"{sql} and {self._id_matches()}", (conversation,)
        order = f"order by conversation_id::text, {self.layout.column}, {_PLACE}"
        for (place,) in self._session.query(f"{sql} {order}", values):
            self._rows_handed_on += 1
            yield self._odd_row(self._rows_handed_on, place)
        for row in rows:
            yield self._odd_row(row, self._places[row - 1])

    def _odd_row(self, row: int, place: str) -> OddRow:
        ((conversation_id, step, size, is_null),) = self._session.query(
            f"select conversation_id::text, {self.layout.column}::text, "
            f"coalesce(octet_length({self._payload()}), 0), payload is null "
            f"from {self._log} where {_AT_PLACE}",
            place.split("/"),
        )
        payload, digest = (None, None) if is_null else self._large_payload(place, size)
        return OddRow(
            row=row,
            id_class="null" if conversation_id is None else "text",
            conversation_id=None if conversation_id is None else conversation_id.encode(),
            step_class="null" if step is None else self._step_class(),
            step=step,
            payload_class="null" if is_null else "text",
            size=size,
            payload=payload,
            digest=digest,
        )

    def _large_payload(self, place: str, size: int) -> tuple[bytes | None, bytes | None]:
        """The bytes of a payload, or their digest where there are too many."""
        raw = _as_bytes(self._types["payload"], self._encoding)
        wanted = raw if size <= MAX_ROW_BYTES else f"sha256({raw})"
        ((found,),) = self._session.query(
            f"select {wanted} from {self._log} where {_AT_PLACE}", place.split("/")
        )
        return (found, None) if size <= MAX_ROW_BYTES else (None, found)

    def recovered_rows(self) -> Iterator[OddRow]:
        """PostgreSQL does not hand on a part of a damaged table."""
        raise UnavailableError(f"{self.place} is damaged; restore it before reading it.")

    def executions(self) -> Iterator[ExecutionRow]:
        """Rows of execution_log in the order in which AX reads them."""
        if not self.layout.has_executions:
            return
        raw = _as_bytes(self._execution_types["payload"], self._encoding)
        found = self._session.query(
            f'select exec_id::text, {raw}, "timestamp"::text from {self._executions} '
            f'order by "timestamp", {_PLACE}'
        )
        for number, (exec_id, payload, timestamp) in enumerate(found, 1):
            yield ExecutionRow(number, exec_id or "", payload or b"", timestamp)

    def finish(self) -> None:
        """No more rows will be asked for: the server is let go of."""
        self._session.close()

    def custody(self) -> dict[str, Any]:
        """The server, its snapshot and its place in the WAL, as of this transaction."""
        return self._custody


def _as_bytes(kind: str, encoding: str) -> str:
    """The expression for a payload column's bytes, in UTF-8 unless the server knows no encoding."""
    if kind == "bytea":
        return "payload"
    target = "SQL_ASCII" if encoding == "SQL_ASCII" else "UTF8"
    return f"convert_to(payload::text, '{target}')"
