"""Run PostgreSQL's programs: to their end, in time, and without a password among their words."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from axnb.errors import AxnbError, UnavailableError, UsageError
from axnb.runtimes.postgres import installed_programs
from axnb.runtimes.processes import Reaper

#: What may be repeated of what a program says: these never hold a password or a payload.
_REASONS = (
    (r"password authentication failed", "the server refused the password"),
    (r"no password supplied", "the server wants a password"),
    (r"Connection refused", "nothing listens there"),
    (r"could not translate host name", "the host has no address"),
    (r"server version mismatch", "the server is newer than the programs here"),
    (r"permission denied|must be superuser or replication role", "the role may not"),
    (r"row-level security", "a row-level security policy hides rows from this role"),
    (r"no pg_hba\.conf entry", "the server lets nobody in from here for this"),
    (r"lock timeout|could not obtain lock", "somebody holds a lock on the log"),
    (r"No space left", "there is no space left"),
    (r"directory .* exists but is not empty", "it has tablespaces, which would be overwritten"),
)


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs. Raises AxnbError where there are none."""
    folder = installed_programs()
    if folder is None or not (folder / name).exists():
        raise AxnbError(f"there is no {name}: install axnb[postgres].")
    return str(folder / name)


def bare_environment() -> dict[str, str]:
    """Our environment without what would steer a PostgreSQL program, its messages or its times."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}


def connection_words(dsn: str) -> tuple[str, dict[str, str]]:
    """A DSN as libpq's `key=value …` without its password, and an environment that holds it.

    Raises UsageError for a DSN that libpq does not take; it is not repeated.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(dsn).items()}
    except ProgrammingError:
        raise UsageError("the source is no DSN that PostgreSQL takes.") from None
    environment = dict(os.environ) | {"LC_ALL": "C"}
    if "sslpassword" in parts:
        raise UsageError("a DSN with an sslpassword cannot be handed to pg_dump safely.")
    if "password" in parts:
        environment["PGPASSWORD"] = parts.pop("password")
    return make_conninfo("", **parts), environment


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    seconds: float,
    folder: Path | None = None,
) -> tuple[int, str]:
    """Run a program to its end; its exit code and what it printed.

    It is ended when we are gone. Raises AxnbError if it takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="axnb-run-") as scratch, Reaper() as reaper:
        log = Path(scratch, "log")
        process = reaper.start_alone(
            command, log=log, end_by="TERM", env=environment, cwd=folder or Path(scratch)
        )
        try:
            code = process.wait(seconds)
        except AxnbError:
            raise UnavailableError(
                f"{_name(command)} has not ended in {seconds:g} s; raise statement_timeout in "
                "axnb.toml."
            ) from None
        finally:
            process.kill()
            reaper.forget(process.pid)
        return code, log.read_text(encoding="utf-8", errors="replace")


def reason(said: str) -> str:
    """Why a program failed, in our words."""
    known = (words for pattern, words in _REASONS if re.search(pattern, said))
    return next(known, "its reason is in the server's own log")


def _name(command: Sequence[str]) -> str:
    return next((Path(word).name for word in reversed(command) if "/bin/" in word), "a program")


class Pipe:
    """A program that we write to or read from; it ends with us, since its pipe breaks."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors

    @property
    def input(self) -> IO[bytes]:
        """What it reads."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def output(self) -> IO[bytes]:
        """What it writes."""
        assert self._process.stdout is not None
        return self._process.stdout

    def end(self) -> tuple[int, str]:
        """Wait for its end; its exit code and what it said of errors."""
        code = self._process.wait()
        self._errors.seek(0)
        return code, self._errors.read(1 << 20).decode("utf-8", "replace")


@contextmanager
def piped(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    seconds: float,
    stdin: int | IO[bytes],
    stdout: int,
) -> Iterator[Pipe]:
    """Start a program with pipes; it is killed after `seconds`, and at the end of the block."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - an argument list, never a shell's line
            list(command),
            stdin=stdin,
            stdout=stdout,
            stderr=errors,
            env=dict(environment),
            cwd="/",
        )
        alarm = threading.Timer(seconds, process.kill)
        alarm.start()
        try:
            yield Pipe(process, errors)
        finally:
            alarm.cancel()
            process.kill()
            process.wait()
            for stream in filter(None, (process.stdin, process.stdout)):
                with suppress(BrokenPipeError):  # it may have ended before it had read all
                    stream.close()
