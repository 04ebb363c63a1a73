"""Take backups of a log in PostgreSQL: a dump of AX's tables, or a base backup of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from axnb.backups.model import Backup, Kind, digests, files_of, timed, written_aside
from axnb.backups.programs import connection_words, program, reason, run
from axnb.errors import AxnbError, UnavailableError, UsageError
from axnb.evidence.layout import EXECUTION_TABLE, LOG_TABLE
from axnb.evidence.locators import PostgresLocator
from axnb.evidence.postgres import PostgresReader
from axnb.runtimes.postgres import ScratchPostgres
from axnb.settings import Settings
from axnb.text import sql_name

_WAYS: dict[str, tuple[Kind, str]] = {
    "custom": ("pg-custom", "log.dump"),
    "plain": ("pg-plain", "log.sql"),
    "directory": ("pg-directory", "log.dir"),
    "base": ("pg-base", "base"),
}


def take_postgres(
    locator: PostgresLocator, how: str | None, folder: Path, settings: Settings
) -> Backup:
    """Back a log up into `folder`, which must be private: `custom`, `plain`, `directory` or `base`.

    A dump holds AX's tables and no other; a base backup is of the whole server, and needs a role
    that may replicate. Raises UnavailableError where the server refuses; then nothing is left.
    """
    way = how or "custom"
    if way not in _WAYS:
        raise UsageError(f"a log in PostgreSQL is backed up by {', '.join(_WAYS)}, not by {way!r}.")
    if not ScratchPostgres.available():
        raise AxnbError("a backup of PostgreSQL needs its programs: install axnb[postgres].")
    kind, name = _WAYS[way]
    target = folder / name
    phases: dict[str, float] = {}
    with PostgresReader(locator, statement_timeout=settings.statement_timeout) as reader:
        custody, place = dict(reader.custody()) | _of_texts(locator.dsn), reader.place
        tables = [LOG_TABLE, *[EXECUTION_TABLE] * reader.layout.has_executions]
    with written_aside(target) as aside, timed(phases, "take"):
        if kind == "pg-base":
            told = _base(locator.dsn, place, aside, settings)
        else:
            told = f"pg_dump --format={way}"
            dump(locator.dsn, place, aside, way, (custody["schema"], tables), settings)
    return Backup(kind, target, told, None, digests(files_of(target)), custody, phases)


def dump(
    dsn: str,
    place: str,
    target: Path,
    way: str,
    tables: tuple[str, list[str]],
    settings: Settings,
) -> None:
    """Write a dump of tables of one schema. Raises UnavailableError."""
    words, environment = connection_words(dsn)
    schema, names = tables
    command = [
        program("pg_dump"),
        f"--dbname={words}",
        f"--format={way}",
        f"--file={target}",
        "--no-password",
        "--no-owner",
        "--no-privileges",
        "--lock-wait-timeout=10s",
        *(f"--table={sql_name(schema)}.{sql_name(name)}" for name in names),
    ]
    seconds = settings.statement_timeout
    code, said = run(command, environment=environment, seconds=seconds)
    if code:
        raise UnavailableError(f"{place} cannot be dumped: {reason(said)}.")
    for path in files_of(target).values():
        path.chmod(0o600)


def _base(dsn: str, place: str, target: Path, settings: Settings) -> str:
    """Write a base backup with the WAL that it needs.

    Without a replication slot: a slot would be a change of the source.
    """
    words, environment = connection_words(dsn)
    target.mkdir(mode=0o700)
    command = [
        program("pg_basebackup"),
        f"--dbname={words}",
        f"--pgdata={target}",
        "--format=plain",
        "--wal-method=stream",
        "--no-slot",
        "--checkpoint=fast",
        "--no-password",
    ]
    seconds = settings.statement_timeout
    code, said = run(command, environment=environment, seconds=seconds)
    if code:
        raise UnavailableError(
            f"{place} gives no base backup: {reason(said)}. It takes a role with REPLICATION, and "
            "a line for it in pg_hba.conf; a dump does without."
        )
    return "pg_basebackup --wal-method=stream"


def facts_of_server(dsn: str, database: str) -> dict[str, Any]:
    """What tells a server and one of its databases from others: identifier, encoding, collation.

    `dsn` is of another database: what a stranger's dump put into this one could run as whoever
    asks there.
    """
    import psycopg

    with psycopg.connect(dsn, autocommit=True, connect_timeout=10) as connection:
        found = connection.execute(_FACTS, (database,)).fetchone()
    assert found is not None
    names = ("system_identifier", "server_version", "encoding", "collation")
    return dict(zip(names, found, strict=True))


_FACTS = """
select (select system_identifier::text from pg_control_system()),
    current_setting('server_version'), pg_encoding_to_char(encoding), datcollate
from pg_database where datname = %s
"""

_TEXTS = """
select pg_encoding_to_char(encoding), datcollate from pg_database
where datname = current_database()
"""


def _of_texts(dsn: str) -> dict[str, Any]:
    """Encoding and collation of a source; nothing where it does not say."""
    import psycopg

    try:
        with psycopg.connect(dsn, connect_timeout=10) as connection:
            connection.read_only = True
            found = connection.execute(_TEXTS).fetchone() or (None, None)
    except psycopg.Error:
        return {}
    return {"encoding": found[0], "collation": found[1]}
