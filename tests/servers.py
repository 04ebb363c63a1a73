"""Real servers to test against: PostgreSQL, and PgBouncer in front of it.

They listen on the loopback address only, take a free port and a secret of their own, and keep
all they write in one private folder under the system's temp folder. Nothing is left when the
`with` block ends, nor when the test process is killed inside it.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess

from axnb.errors import AxnbError as ServerError
from axnb.runtimes.postgres import PostgresClient, ScratchPostgres, database_name
from axnb.runtimes.scratch import ScratchServer as Server
from axnb.runtimes.scratch import give

__all__ = ["PgBouncer", "PostgresServer", "Server", "ServerError"]


class PostgresServer(ScratchPostgres):
    """A PostgreSQL of its own that tells who asks it what."""

    def sessions(self, database: str) -> list[tuple[str, str]]:
        """Return (state, last query) of every client of a database except this asker.

        PostgreSQL keeps the first 1,023 bytes of a query.
        """
        import psycopg

        query = (
            "SELECT coalesce(state, ''), query FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND datname = %s AND pid <> pg_backend_pid()"
            " ORDER BY backend_start, pid"
        )
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            found = connection.execute(query, [database_name(database)])
            return [(str(state), str(asked)) for state, asked in found]


class PgBouncer(PostgresClient):
    """Debian's PgBouncer before a server, in transaction mode: a session lasts one transaction.

    Its user and password are the server's. Two connections serve all clients of a database, so
    what a client leaves behind in a session meets the next client at once.
    """

    _title = "pgbouncer"
    _stop_signal = signal.SIGKILL  # it has nothing to save; gentler signals may wait for clients
    _orphan_signal = "KILL"

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server.password)
        self._server = server

    @staticmethod
    def available() -> bool:
        """Say whether the program is installed."""
        return _pgbouncer() is not None

    def _prepare(self) -> None:
        program = _pgbouncer()
        if program is None:
            raise ServerError("pgbouncer is not installed")
        self._program = program
        users = self._folder / "users.txt"
        users.write_text(f'"postgres" "{self.password}"\n', encoding="ascii")
        users.chmod(0o600)
        give(self._as, self._folder)

    def _command(self) -> list[str]:
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": str(self._folder / "users.txt"),
            "pool_mode": "transaction",
            "default_pool_size": "2",
        }
        if _version(self._program) >= (1, 21):  # older ones know no such setting and refuse it
            settings["max_prepared_statements"] = "0"
        lines = ["[databases]", f"* = host=127.0.0.1 port={self._server.port}", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        ini = self._folder / "pgbouncer.ini"
        ini.write_text("\n".join(lines) + "\n", encoding="utf-8")
        give(self._as, ini)
        return [self._program, str(ini)]


def _pgbouncer() -> str | None:
    """Find the program; Debian puts it where the PATH of a normal user does not lead."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


def _version(program: str) -> tuple[int, int]:
    """Return the version, or (0, 0) when the program does not say."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)
