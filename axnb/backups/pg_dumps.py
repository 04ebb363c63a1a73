"""What pg_dump wrote, restored into a server that is new."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

from axnb.backups.model import Backup, BadBackupError, Flaw, Restored, timed
from axnb.backups.pg_contents import Contents, contents_of, cut_off, judge_dump, unreadable
from axnb.backups.pg_script import Script, run_script, too_slow
from axnb.backups.pg_take import facts_of_server
from axnb.backups.programs import Pipe, connection_words, piped, program
from axnb.runtimes.postgres import ScratchPostgres
from axnb.settings import Settings

_ROLE = "axnb_restored"
_DATABASE = "restored"


class FreshPostgres(ScratchPostgres):
    """A new server whose superuser has a name that no dump speaks of."""

    superuser = "axnb_scratch"


@contextmanager
def restore_dump(
    backup: Backup, settings: Settings, phases: dict[str, float] | None = None
) -> Iterator[Restored]:
    """A fresh server with the dump's tables, for as long as the block lasts.

    They are restored by a role that owns its database and is nothing else.
    Raises BadBackupError for what cannot be restored, AxnbError where there is no PostgreSQL.
    """
    phases = {} if phases is None else phases
    with timed(phases, "judge"):
        for flaw in judge_dump(backup, settings):
            if flaw.severity == "error":
                raise BadBackupError(flaw)
        contents = contents_of(backup, settings)
    with ExitStack() as stack:
        with timed(phases, "start server"):
            server = stack.enter_context(FreshPostgres())
        with timed(phases, "load"):
            log = _role_and_database(server, contents)
            script = _load(server, backup, log, settings)
        facts = facts_of_server(server.dsn(), _DATABASE) | {
            "backup_encoding": script.encoding,
            "backup_collation": backup.source.get("collation"),
            "backup_server_version": script.version,
        }
        yield Restored(backup, log, facts, tuple(_of_encoding(backup, script)), phases)


def _of_encoding(backup: Backup, script: Script) -> Iterator[Flaw]:
    if script.encoding not in (None, "UTF8"):
        is_bare = script.encoding == "SQL_ASCII"
        what = "its bytes had no encoding at all" if is_bare else "its texts were converted"
        yield Flaw(
            "other-encoding",
            "doubt",
            f"{backup.place} comes from a database in {script.encoding}, and AX's are in UTF-8: "
            f"{what}.",
        )


def _role_and_database(server: FreshPostgres, contents: Contents) -> str:
    """Create the role, those that a plain dump speaks of, the database and its schemas; its DSN."""
    import psycopg
    from psycopg import sql

    role, database = sql.Identifier(_ROLE), sql.Identifier(_DATABASE)
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(
            sql.SQL("create role {} login password {}").format(role, sql.Literal(server.password))
        )
        for name in contents.roles:
            try:
                connection.execute(sql.SQL("create role {}").format(sql.Identifier(name)))
            except psycopg.Error:
                continue  # a name that is reserved
            connection.execute(sql.SQL("grant {} to {}").format(sql.Identifier(name), role))
        connection.execute(
            sql.SQL("create database {} owner {} template template0 encoding 'UTF8'").format(
                database, role
            )
        )
        # A new owner of a table must be allowed to create in its schema.
        connection.execute(sql.SQL("grant create on database {} to public").format(database))
    with psycopg.connect(server.dsn(_DATABASE), autocommit=True) as connection:
        connection.execute("grant create on schema public to public")
        for name in contents.needed_schemas:
            connection.execute(
                sql.SQL("create schema {} authorization {}").format(sql.Identifier(name), role)
            )
    return f"postgresql://{_ROLE}:{server.password}@127.0.0.1:{server.port}/{_DATABASE}"


def _load(server: FreshPostgres, backup: Backup, log: str, settings: Settings) -> Script:
    words, environment = connection_words(log)
    ours = {name: value for name, value in environment.items() if not name.startswith("PG")}
    ours["PGPASSWORD"] = server.password
    seconds = settings.statement_timeout
    with ExitStack() as stack:
        archive: Pipe | None = None
        source: IO[bytes]
        if backup.kind == "pg-plain":
            source = stack.enter_context(backup.path.open("rb"))
        else:
            archive = stack.enter_context(_read_archive(server, backup, ours, seconds))
            source = archive.output
        psql = server.program("psql")
        script = run_script(source, psql, words, ours, seconds, backup.place)
        if archive is not None:
            code, said = archive.end()
            if code:
                raise BadBackupError(
                    too_slow(backup.place) if code < 0 else unreadable(backup, said)
                )
    if not script.is_complete:
        raise BadBackupError(cut_off(backup))
    return script


@contextmanager
def _read_archive(
    server: FreshPostgres, backup: Backup, environment: dict[str, str], seconds: float
) -> Iterator[Pipe]:
    """pg_restore, which writes an archive as a script.

    A file is handed to it open; a folder it must enter itself, which the server's account cannot.
    """
    is_folder = backup.path.is_dir()
    command = [
        *([program("pg_restore")] if is_folder else server.program("pg_restore")),
        "--file=-",
        "--no-owner",
        "--no-privileges",
        "--no-tablespaces",
        "--no-comments",
        "--no-publications",
        "--no-subscriptions",
        "--no-security-labels",
        *([str(backup.path.resolve())] if is_folder else []),
    ]
    with ExitStack() as stack:
        stdin: Any = subprocess.DEVNULL
        if not is_folder:
            stdin = stack.enter_context(backup.path.open("rb"))
        yield stack.enter_context(
            piped(
                command,
                environment=environment,
                seconds=seconds,
                stdin=stdin,
                stdout=subprocess.PIPE,
            )
        )
