"""Read an event log from PostgreSQL: one repeatable-read, read-only transaction for everything.

Nothing depends on the session: settings are local to the transaction and no statement has a name,
so a pooler in transaction mode between us and the server changes nothing. The connection is closed
at the end, also after an error, so nothing is left idle in a transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from axnb.errors import CancelledError, NotALogError, SourceError, UnavailableError
from axnb.evidence.layout import EXECUTION_TABLE, LOG_TABLE, Layout, recognise
from axnb.evidence.locators import PostgresLocator
from axnb.evidence.reader import MAX_FAST_BYTES, MAX_ROW_BYTES, ExecutionRow, OddRow

_BATCH_BYTES = 2 << 20
_INTEGERS = ("smallint", "integer", "bigint")

#: What may be repeated of a server's message: these never hold a password or a payload.
_REASONS = (
    (r"password authentication failed", "the server refused the password"),
    (r"no password supplied", "the server wants a password"),
    (r"Connection refused", "nothing listens there"),
    (r"could not translate host name", "the host has no address"),
    (r'database "[^"]*" does not exist', "the server has no such database"),
    (r'role "[^"]*" does not exist', "the server has no such role"),
    (r"no pg_hba\.conf entry", "the server lets nobody in from here"),
    (r"[Tt]imeout|timed out", "the server did not answer in time"),
    (r"SSL|certificate", "the encryption could not be agreed upon"),
)

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
where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema')
group by n.nspname, c.relname
"""

_CUSTODY = """
select
    case when has_function_privilege('pg_control_system()', 'execute')
        then (select system_identifier::text from pg_control_system()) end,
    current_setting('server_version'),
    current_database()::text,
    pg_current_snapshot()::text,
    case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end::text,
    pg_is_in_recovery()
"""


class PostgresReader:
    """An event log in PostgreSQL; a context manager.

    Raises UnavailableError if the server cannot be read, NotALogError for what is no AX log.
    """

    kind = "eventlog"

    def __init__(self, locator: PostgresLocator, *, statement_timeout: int) -> None:
        self.place = str(locator)
        self.notes: list[str] = []
        self.incomplete: list[str] = []
        self._locator = locator
        self._timeout = statement_timeout
        self._connection: Any = None
        self._rows_handed_on = 0

    def __enter__(self) -> PostgresReader:
        import adbc_driver_postgresql.dbapi as adbc

        try:
            self._connection = adbc.connect(self._locator.dsn)
            self._begin()
            self.layout = self._recognise()
            self._custody = self._describe()
        except adbc.Error as err:
            self.__exit__()
            raise self.translated(err) from None
        except BaseException:
            self.__exit__()
            raise
        self.notes += self.layout.notes
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            # Closed without a rollback: that would first read a half-read stream to its end. The
            # server ends the transaction when the connection goes.
            connection, self._connection = self._connection, None
            connection.close()

    def translated(self, error: Exception) -> SourceError:
        """An error of the driver in our words; its own could hold a password or a payload."""
        if isinstance(error, SourceError):
            return error
        state = getattr(error, "sqlstate", None) or _state_of_stream(str(error))
        if state == "40001":
            return CancelledError(
                f"{self.place} cancelled the read, as a busy standby does; try the primary, or "
                "later."
            )
        if state == "42501":
            return UnavailableError(f"{self.place} does not let this role read the log.")
        if state == "57014":
            return UnavailableError(
                f"{self.place} took longer than {self._timeout} s; raise statement_timeout in "
                "axnb.toml."
            )
        message = str(error)
        reason = next(
            (words for pattern, words in _REASONS if re.search(pattern, message)),
            f"the server answered with SQLSTATE {state}"
            if state
            else "the address is malformed or the server broke off",
        )
        return UnavailableError(f"{self.place} cannot be read: {reason}.")

    # --- what the source is --------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin: the driver sends BEGIN with the first statement, so this must be the first."""
        with self._connection.cursor() as cursor:
            cursor.execute("set transaction isolation level repeatable read read only")
            cursor.execute(f"set local statement_timeout = '{self._timeout}s'")
            cursor.execute("set local lock_timeout = '10s'")
            cursor.execute("set local idle_in_transaction_session_timeout = '600s'")
            cursor.execute("set local timezone = 'UTC'")

    def _query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows

    def _recognise(self) -> Layout:
        schemas: dict[str, dict[str, tuple[list[str], list[str], list[bool]]]] = {}
        order: dict[str, int] = {}
        for schema, table, columns, types, keys, position in self._query(_TABLES):
            schemas.setdefault(schema, {})[table] = (columns, types, keys)
            order[schema] = 1_000_000 if position is None else position
        schema = self._choose_schema(schemas, order)
        tables = schemas.get(schema, {})
        columns, types, keys = tables.get(LOG_TABLE, ([], [], []))
        layout = recognise(
            f"{self.place} schema {schema}" if self._locator.schema is None else self.place,
            {name: found[0] for name, found in tables.items()},
            [column for column, key in zip(columns, keys, strict=True) if key],
        )
        self._types = dict(zip(columns, types, strict=True))
        self._log = f"{_quoted(schema)}.{_quoted(LOG_TABLE)}"
        self._executions = f"{_quoted(schema)}.{_quoted(EXECUTION_TABLE)}"
        self._schema = schema
        return layout

    def _choose_schema(
        self, schemas: Mapping[str, Mapping[str, object]], order: Mapping[str, int]
    ) -> str:
        """The schema that was asked for, or that the search path finds first, as for AX itself."""
        if self._locator.schema is not None:
            return self._locator.schema
        holding = [name for name, tables in schemas.items() if LOG_TABLE in tables]
        on_path = sorted((order[name], name) for name in holding if order[name] < 1_000_000)
        if on_path:
            chosen = on_path[0][1]
        elif len(holding) == 1:
            chosen = holding[0]
        elif holding:
            raise NotALogError(
                f"{self.place} has a table conversation_log in the schemas "
                f"{', '.join(sorted(holding))}: add ?schema=NAME to the DSN."
            )
        else:
            return min(order, key=lambda name: order[name], default="public")
        if others := sorted(set(holding) - {chosen}):
            self.notes.append(
                f"conversation_log is also in the schemas {', '.join(others)}, which were not read."
            )
        return chosen

    def _describe(self) -> dict[str, Any]:
        ((system, version, database, snapshot, lsn, standby),) = self._query(_CUSTODY)
        return {
            "mode": "repeatable read, read only",
            "system_identifier": system,
            "server_version": version,
            "database": database,
            "schema": self._schema,
            "snapshot": snapshot,
            "lsn": lsn,
            "standby": standby,
        }

    def count(self) -> int:
        """How many rows the table has in this transaction's snapshot."""
        ((count,),) = self._query(f"select count(*) from {self._log}")
        return int(count)

    # --- rows ----------------------------------------------------------------------------------

    def _regular(self) -> str:
        """Rows that can go the fast way: no NULL, a whole number for a step, a usual size."""
        if self._types[self.layout.column] not in _INTEGERS:
            return "false"
        return (
            f"conversation_id is not null and {self.layout.column} is not null "
            f"and payload is not null and octet_length({self._payload()}) <= {MAX_FAST_BYTES}"
        )

    def _payload(self) -> str:
        return "payload" if self._types["payload"] == "bytea" else "payload::text"

    def fast_batches(self, conversation: str | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of (row, conversation_id, step, payload) of the regular rows.

        PostgreSQL has no number for a row, so they are counted as they come.
        """
        number = (
            f"{self.layout.column}::bigint"
            if self._types[self.layout.column] in _INTEGERS
            else "0::bigint"
        )
        sql = (
            f"select conversation_id::text as conversation_id, {number} as step, "
            f"{self._payload()} as payload from {self._log} where {self._regular()}"
        )
        # The driver's own hint holds the first batch of a slow query back for half a minute.
        hint = {"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)}
        with self._connection.cursor(adbc_stmt_kwargs=hint) as cursor:
            if conversation is None:
                cursor.execute(sql)
            else:
                cursor.execute(f"{sql} and conversation_id = $1", (conversation,))
            for batch in cursor.fetch_record_batch():
                first = self._rows_handed_on + 1
                self._rows_handed_on += batch.num_rows
                rows = pa.array(range(first, first + batch.num_rows), pa.int64())
                yield pa.RecordBatch.from_arrays(
                    [rows, *batch.columns], ["row", *batch.schema.names]
                )

    def odd_rows(
        self, conversation: str | None = None, rows: Sequence[int] = ()
    ) -> Iterator[OddRow]:
        """All other rows, one at a time. `rows` is empty: text in PostgreSQL is always text."""
        where = f"not ({self._regular()})"
        values: tuple[Any, ...] = ()
        if conversation is not None:
            where, values = f"({where}) and conversation_id = $1", (conversation,)
        column = self.layout.column
        found = self._query(
            f"select ctid::text, conversation_id::text, {column}::text, "
            f"coalesce(octet_length({self._payload()}), 0), payload is null "
            f"from {self._log} where {where} order by conversation_id, {column}, ctid",
            values,
        )
        integer = self._types[column] in _INTEGERS
        for ctid, conversation_id, step, size, is_null in found:
            self._rows_handed_on += 1
            payload, digest = self._large_payload(ctid, size, is_null)
            yield OddRow(
                row=self._rows_handed_on,
                id_class="null" if conversation_id is None else "text",
                conversation_id=None if conversation_id is None else conversation_id.encode(),
                step_class="null" if step is None else "integer" if integer else "text",
                step=step,
                payload_class="null" if is_null else "text",
                size=size,
                payload=payload,
                digest=digest,
            )

    def _large_payload(
        self, ctid: str, size: int, is_null: bool
    ) -> tuple[bytes | None, bytes | None]:
        if is_null:
            return None, None
        raw = (
            "payload" if self._types["payload"] == "bytea" else "convert_to(payload::text, 'UTF8')"
        )
        wanted = raw if size <= MAX_ROW_BYTES else f"sha256({raw})"
        ((found,),) = self._query(
            f"select {wanted} from {self._log} where ctid = $1::text::tid", (ctid,)
        )
        return (found, None) if size <= MAX_ROW_BYTES else (None, found)

    def recovered_rows(self) -> Iterator[OddRow]:
        """PostgreSQL does not hand on a part of a damaged table."""
        raise UnavailableError(f"{self.place} is damaged; restore it before reading it.")

    def executions(self) -> Iterator[ExecutionRow]:
        """Rows of execution_log in the order in which AX reads them."""
        if not self.layout.has_executions:
            return
        found = self._query(
            f'select exec_id::text, payload::text, "timestamp"::text from {self._executions} '
            'order by "timestamp", ctid'
        )
        for number, (exec_id, payload, timestamp) in enumerate(found, 1):
            yield ExecutionRow(number, exec_id or "", (payload or "").encode(), timestamp)

    def finish(self) -> None:
        """No more rows will be asked for: the server is let go of."""
        self.__exit__()

    def custody(self) -> dict[str, Any]:
        """The server, its snapshot and its place in the WAL, as of this transaction."""
        return self._custody


def _state_of_stream(message: str) -> str | None:
    """The SQLSTATE of an error that arrived inside a stream of rows, where the driver drops it."""
    if re.search(r"conflict with recovery|could not serialize|SQLSTATE: 40001", message):
        return "40001"
    if "statement timeout" in message:
        return "57014"
    return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
