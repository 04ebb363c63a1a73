"""One repeatable-read, read-only transaction on a PostgreSQL server, and its errors in our words.

Nothing depends on the session: settings are local to the transaction and no statement has a name,
so a pooler in transaction mode between us and the server changes nothing. The connection is closed
at the end, also after an error, so nothing is left idle in a transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from axnb.errors import CancelledError, SourceError, UnavailableError

_BATCH_BYTES = 2 << 20

#: What may be repeated of a server's message: these never hold a password or a payload.
_REASONS = (
    (r"password authentication failed", "the server refused the password"),
    (r"no password supplied", "the server wants a password"),
    (r"Connection refused", "nothing listens there"),
    (r"could not translate host name", "the host has no address"),
    (r'database "[^"]*" does not exist', "the server has no such database"),
    (r'role "[^"]*" (does not exist|is not permitted)', "the server does not let this role in"),
    (r"permission denied for database", "the server does not let this role in"),
    (r"no pg_hba\.conf entry", "the server lets nobody in from here"),
    (r"[Tt]imeout|timed out", "the server did not answer in time"),
    (r"SSL|certificate", "the encryption could not be agreed upon"),
)

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


class PostgresSession:
    """A read-only transaction; `query` and `stream` raise SourceError in one sentence.

    `place` is what messages call the server: never the DSN, which may hold a password.
    """

    def __init__(self, dsn: str, place: str, statement_timeout: int) -> None:
        import adbc_driver_postgresql.dbapi as adbc

        self.place = place
        self._timeout = statement_timeout
        self._connection: Any = None
        try:
            self._connection = adbc.connect(dsn)
            self._begin()
        except (adbc.Error, OSError, UnicodeEncodeError) as err:
            self.close()
            raise self.translated(err) from None

    def _begin(self) -> None:
        """Begin: the driver sends BEGIN with the first statement, so this must be the first."""
        with self._connection.cursor() as cursor:
            for statement in (
                "set transaction isolation level repeatable read read only",
                f"set local statement_timeout = '{self._timeout}s'",
                "set local lock_timeout = '10s'",
                "set local idle_in_transaction_session_timeout = '600s'",
                "set local timezone = 'UTC'",
                # A server without an encoding hands on bytes; it would refuse to call them UTF-8.
                "select set_config('client_encoding', case current_setting('server_encoding') "
                "when 'SQL_ASCII' then 'SQL_ASCII' else 'UTF8' end, true)",
            ):
                cursor.execute(statement)

    def close(self) -> None:
        """Let go of the server.

        Without a rollback: that would first read a half-read stream to its end. The server ends
        the transaction when the connection goes.
        """
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a small answer."""
        from adbc_driver_manager import Error

        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql, values or None)
                rows: list[tuple[Any, ...]] = cursor.fetchall()
                return rows
        except (Error, OSError) as err:
            raise self.translated(err) from None

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[pa.RecordBatch]:
        """The rows of a large answer, in batches. Read it to its end before the next query."""
        # The driver's own hint holds the first batch of a slow query back for half a minute.
        hint = {"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)}
        with self._connection.cursor(adbc_stmt_kwargs=hint) as cursor:
            cursor.execute(sql, values or None)
            yield from cursor.fetch_record_batch()

    def custody(self) -> dict[str, Any]:
        """The server, its snapshot and its place in the WAL, as of this transaction."""
        ((system, version, database, snapshot, lsn, standby),) = self.query(_CUSTODY)
        return {
            "mode": "repeatable read, read only",
            "system_identifier": system,
            "server_version": version,
            "database": database,
            "snapshot": snapshot,
            "lsn": lsn,
            "standby": standby,
        }

    def translated(self, error: Exception) -> SourceError:
        """An error of the driver in our words; its own could hold a password or a payload."""
        if isinstance(error, SourceError):
            return error
        message = str(error)
        state = getattr(error, "sqlstate", None) or _state_of_stream(message)
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
        known = (words for pattern, words in _REASONS if re.search(pattern, message))
        reason = next(known, "the address is malformed, or the server broke off")
        if state and reason.startswith("the address"):
            reason = f"the server answered with SQLSTATE {state}"
        return UnavailableError(f"{self.place} cannot be read: {reason}.")


def _state_of_stream(message: str) -> str | None:
    """The SQLSTATE of an error that arrived inside a stream of rows, where the driver drops it."""
    if re.search(r"conflict with recovery|could not serialize|SQLSTATE: 40001", message):
        return "40001"
    if "statement timeout" in message:
        return "57014"
    return None
