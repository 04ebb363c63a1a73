"""A server of ours on a copy of a base backup, which recovers it and then lets us in.

Nothing of the backup's own configuration is kept: it could archive into the source's archive, ask
the source's primary, or load libraries that are not here. Who is in it keeps its password, which we
do not know: so the server listens nowhere but on a socket in our private folder, and trusts it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from axnb.backups.model import Backup, BadBackupError, Flaw, bad
from axnb.backups.pg_wal import HISTORY, SEGMENT, first_segment, lsn
from axnb.errors import NotALogError, SourceError
from axnb.evidence.layout import EXECUTION_TABLE, LOG_TABLE
from axnb.evidence.locators import PostgresLocator
from axnb.evidence.postgres import PostgresReader
from axnb.runtimes.postgres import ScratchPostgres, reachable_programs
from axnb.runtimes.processes import Process
from axnb.runtimes.scratch import give
from axnb.settings import Settings
from axnb.text import cut_middle, safe

_NOT_COPIED = (
    "postmaster.*",
    "*.signal",
    "recovery.conf",
    "postgresql.conf",
    "postgresql.auto.conf",
    "pg_hba.conf",
    "pg_ident.conf",
    "archive_status",
)

#: What a server that could not recover has logged -> what that means.
_ENDS = (
    (
        r"recovery ended before configured recovery target",
        "target-outside",
        "error",
        "its WAL ends before the target time",
    ),
    (
        r"is not a child of this server's history",
        "wrong-timeline",
        "error",
        "the archive's newest timeline does not descend from it",
    ),
    (
        r"could not locate (a valid|required) checkpoint|WAL ends before|end of online backup|"
        r"before a consistent recovery point|consistent recovery state",
        "wal-gap",
        "error",
        "it lacks WAL that it needs to become consistent",
    ),
    (
        r"files are incompatible|not compatible",
        "needs-server",
        "doubt",
        "it was made by a build of PostgreSQL that is not like the one here",
    ),
    (r"checksum|invalid page|PANIC", "damaged", "error", "it is damaged"),
)

_NO_LOCALE = r"incompatible with operating system|not recognized by setlocale"

_NAME = re.compile(rb"([A-Za-z_][A-Za-z0-9_.$-]{0,62})\x00\x00")
_MOST_NAMES = 200

_DATABASES = "select datname from pg_database where datallowconn and not datistemplate order by 1"

_FACTS = """
select (select system_identifier::text from pg_control_system()), current_setting('server_version'),
    pg_encoding_to_char(encoding), datcollate, datcollversion,
    pg_database_collation_actual_version(oid),
    (select timeline_id from pg_control_checkpoint()), pg_current_wal_lsn()::text
from pg_database where datname = current_database()
"""


class RecoveredPostgres(ScratchPostgres):
    """A base backup, recovered; a context manager. Raises BadBackupError where it cannot be."""

    def __init__(self, backup: Backup, target: datetime | None, settings: Settings) -> None:
        super().__init__()
        self._backup = backup
        self._target = target
        self._settings = settings
        self._start_seconds = float(settings.statement_timeout)
        self._user: str | None = None

    def dsn(self, database: str = "postgres") -> str:
        """The DSN of a database, over the private socket."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(
            "",
            host=str(self._folder),
            port=self.port,
            user=self._user or "postgres",
            dbname=database,
        )

    def _prepare(self) -> None:
        self._binaries = reachable_programs(self._folder, self._as)
        data = self._folder / "data"
        ignored = shutil.ignore_patterns(*_NOT_COPIED)
        try:
            shutil.copytree(self._backup.path, data, ignore=ignored, symlinks=True)
        except (OSError, shutil.Error) as err:
            raise SourceError(f"{self._backup.place} cannot be copied to be recovered.") from err
        (data / "pg_wal/archive_status").mkdir(parents=True, exist_ok=True)
        (data / "pg_hba.conf").write_text("local all all trust\n", encoding="ascii")
        for name in ("postgresql.conf", "postgresql.auto.conf", "pg_ident.conf"):
            (data / name).touch()
        if self._backup.wal_archive is not None:
            self._take_archive(self._backup.wal_archive)
            (data / "recovery.signal").touch()
        self._names = list(_names_in(data / "global/1260"))
        give(self._as, self._folder)
        data.chmod(0o700)

    def _take_archive(self, archive: Path) -> None:
        """A copy of what is needed: the account cannot enter the archive, and shall not write."""
        copy = self._folder / "archive"
        copy.mkdir()
        label = self._folder / "data/backup_label"
        first = first_segment(label.read_text(errors="replace")) if label.exists() else ""
        for path in archive.iterdir():
            is_later = SEGMENT.fullmatch(path.name) and path.name[8:] >= first[8:]
            if (is_later or HISTORY.fullmatch(path.name)) and path.is_file():
                shutil.copyfile(path, copy / path.name)

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "port": str(self.port),
            "unix_socket_directories": str(self._folder),
            "fsync": "off",
            # Nobody is let in before it is done; then what the primary allowed need not fit.
            "hot_standby": "off",
            "max_prepared_transactions": "100",
            "max_logical_replication_workers": "0",
            "autovacuum": "off",
        }
        if (self._folder / "data/PG_VERSION").read_text(encoding="ascii").strip() >= "17":
            settings["event_triggers"] = "off"
        if self._backup.wal_archive is not None:
            settings |= {
                "restore_command": "cp ../archive/%f %p",
                "recovery_target_timeline": "latest",
                "recovery_target_action": "promote",
            }
        if self._target is not None:
            settings["recovery_target_time"] = (
                f"{self._target.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f+00}"
            )
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self._binaries / "postgres"), "-D", str(self._folder / "data"), *options]

    def _answers(self) -> bool:
        """Who may do all in this server is not known: `postgres`, or another of its names."""
        import psycopg

        for user in (self._user,) if self._user else ("postgres", *self._names):
            try:
                with psycopg.connect(self.dsn("template1"), user=user, connect_timeout=5) as one:
                    (is_super,) = one.execute(_IS_SUPER).fetchone() or (False,)
            except psycopg.OperationalError as err:
                if re.search(_NO_LOCALE, str(err)):
                    raise self._no_locale() from None
                if not re.search(r'role ".*" (does not exist|is not permitted)', str(err)):
                    return False
                continue
            if is_super:
                self._user = user
                return True
        return False

    def _ready(self, process: Process) -> bool:
        if super()._ready(process):
            return True
        said = self.log()
        for pattern, kind, severity, words in _ENDS:
            if re.search(pattern, said):
                raise BadBackupError(
                    Flaw(
                        kind,
                        "doubt" if severity == "doubt" else "error",
                        f"{self._backup.place} cannot be recovered: {words}.",
                    )
                )
        if "could not bind" in said or "lock file" in said:
            return False  # somebody was quicker to take the port
        raise bad(
            "refused", f"{self._backup.place} cannot be recovered: its server does not start."
        )

    def _no_locale(self) -> BadBackupError:
        return BadBackupError(
            Flaw(
                "other-collation",
                "doubt",
                f"{self._backup.place} holds a database of a locale that this system does not "
                "have, and cannot be opened here: install the locale.",
            )
        )

    def redo_end(self) -> int | None:
        """Where the last record lies that was recovered, if the server has logged it."""
        found = re.findall(r"redo done at ([0-9A-F]+/[0-9A-F]+)", self.log())
        return lsn(found[-1]) if found else None

    # --- what is in it -------------------------------------------------------------------------

    def find_log(self, database: str | None = None) -> tuple[str, str, list[str]]:
        """Database and schema of an event log in the server, and AX's tables there.

        `database` names it; else it must be the only one.
        """
        import psycopg

        with psycopg.connect(self.dsn("template1"), autocommit=True) as connection:
            names = [name for (name,) in connection.execute(_DATABASES)]
        if database is not None:
            names = [name for name in names if name == database]
        found = [(name, *log) for name in names if (log := self._log_in(name)) is not None]
        if not found:
            raise bad(
                "wrong-database",
                f"{self._backup.place} has an AX log in none of its databases: "
                f"{', '.join(cut_middle(safe(name), 40) for name in names[:5])}.",
            )
        if len(found) > 1:
            raise BadBackupError(
                Flaw(
                    "several-logs",
                    "doubt",
                    f"{self._backup.place} has an AX log in more than one database: "
                    f"{', '.join(cut_middle(safe(name), 40) for name, *_ in found[:5])}; name one.",
                )
            )
        return found[0]

    def _log_in(self, database: str) -> tuple[str, list[str]] | None:
        import psycopg

        try:
            psycopg.connect(self.dsn(database), connect_timeout=10).close()
        except psycopg.OperationalError as err:
            if re.search(_NO_LOCALE, str(err)):
                raise self._no_locale() from None
            raise SourceError(f"a database of {self._backup.place} cannot be opened.") from None
        locator = PostgresLocator(self.dsn(database))
        timeout = self._settings.statement_timeout
        try:
            with PostgresReader(locator, statement_timeout=timeout) as reader:
                tables = [LOG_TABLE, *[EXECUTION_TABLE] * reader.layout.has_executions]
                return str(reader.custody()["schema"]), tables
        except NotALogError:
            return None

    def facts(self, database: str) -> tuple[dict[str, Any], list[Flaw]]:
        """What tells the recovered server from others, and what speaks against its database."""
        import psycopg

        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            found = connection.execute(_FACTS).fetchone()
        assert found is not None
        names = "system_identifier server_version encoding collation collation_version"
        names += " collation_version_here timeline lsn"
        facts = dict(zip(names.split(), found, strict=True))
        return facts, list(self._of_collation(facts))

    def _of_collation(self, facts: dict[str, Any]) -> Iterator[Flaw]:
        then, here = facts["collation_version"], facts["collation_version_here"]
        if then is not None and then != here:
            yield Flaw(
                "other-collation",
                "doubt",
                f"{self._backup.place} sorts texts by version {safe(str(then))[:40]} of its "
                f"collation, and this system has {safe(str(here))[:40]}: an index may not find "
                "what is there; a dump has no such doubt.",
            )


_IS_SUPER = "select rolsuper from pg_roles where rolname = current_user"


def _names_in(authorities: Path) -> Iterator[str]:
    """What may be names of roles, from the file that usually holds them."""
    if authorities.is_file():
        found = dict.fromkeys(_NAME.findall(authorities.read_bytes()))
        yield from [name.decode() for name in found if not name.startswith(b"pg_")][:_MOST_NAMES]
