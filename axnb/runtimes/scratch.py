"""A server in a private folder, for as long as a `with` block lasts.

It listens on the loopback address only, on a free port, with a secret of its own, and keeps all it
writes in one folder under the system's temp folder. Nothing is left when the block ends, nor when
we are killed inside it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from axnb.errors import AxnbError
from axnb.runtimes.processes import Process, Reaper, free_port

_ATTEMPTS = 5
_START_SECONDS = 60.0
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.02


_BECOME = (
    "import os, sys; user, group = map(int, sys.argv[1:3]); os.setgroups([]); "
    "os.setgid(group); os.setuid(user); os.execv(sys.argv[3], sys.argv[3:])"
)


@dataclass(frozen=True)
class Account:
    """Whom a program runs as; all None means as ourselves."""

    user: int | None = None
    group: int | None = None


def becoming(account: Account) -> list[str]:
    """What a command is started through to run as another account.

    Popen would fork for it, which the system refuses a process that has much memory.
    """
    if account.user is None or account.group is None:
        return []
    return [sys.executable, "-I", "-S", "-c", _BECOME, str(account.user), str(account.group)]


def nobody() -> Account:
    """`nobody` when we are root, since databases refuse to run as root; else ourselves."""
    if os.geteuid() != 0:
        return Account()
    import pwd  # not on every platform that can import this module

    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_uid, entry.pw_gid)


class ScratchServer(ABC):
    """A server process in a private folder; a subclass says which. Raises AxnbError."""

    _title: ClassVar[str]
    _stop_signal: ClassVar[signal.Signals]
    #: The name of the signal that ends it when we are gone.
    _orphan_signal: ClassVar[str]
    #: How long it may take until it answers.
    _start_seconds = _START_SECONDS

    def __init__(self) -> None:
        self.port = 0
        self.pid = 0
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._as = self._account()
            place = _place(self._as)
            self._folder = Path(
                tempfile.mkdtemp(prefix=f"axnb-{self._title}-", dir=place)
            ).resolve()
            self._reaper = stack.enter_context(Reaper(self._folder))
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

    def _spawn(self, command: list[str], end_by: str) -> Process:
        return self._reaper.start_alone(
            command,
            log=self._folder / "log",
            end_by=end_by,
            env=self._environment(),
            cwd=self._folder,
            through=becoming(self._as),
        )

    def _run(self, command: list[str]) -> int:
        """Run a program of the server to its end; its return code."""
        process = self._spawn(command, "0")
        try:
            return process.wait()
        finally:
            self._reaper.forget(process.pid)

    @contextlib.contextmanager
    def _running(self) -> Iterator[int]:
        """Start the server, on another port if somebody was quicker to take the one we found."""
        last = ""
        for _ in range(_ATTEMPTS):
            self.port = free_port()
            process = self._spawn(self._command(), self._orphan_signal)
            try:
                if self._ready(process):
                    yield process.pid
                    return
                last = process.last_line()
            finally:
                self._end(process)
                self._reaper.forget(process.pid)
        raise AxnbError(f"{self._title} did not start on a free port: {last}")

    def _ready(self, process: Process) -> bool:
        """Wait until the server lets us in; False when it ended instead."""
        deadline = time.monotonic() + self._start_seconds
        while process.is_running:
            if self._answers():
                return True
            if time.monotonic() > deadline:
                raise AxnbError(f"{self._title} does not answer: {process.last_line()}")
            time.sleep(_POLL_SECONDS)
        return False

    def _end(self, process: Process) -> None:
        process.send(self._stop_signal)
        try:
            process.wait(_STOP_SECONDS)
        except AxnbError:
            process.kill()


def open_to_others(path: Path) -> bool:
    """Can anybody come to a file or a folder?"""
    return all(place.stat().st_mode & 0o001 for place in (path, *path.parents))


def _place(account: Account) -> Path | None:
    """Where another account can reach a folder of its own; None is the usual temp folder.

    That of a notebook's kernel is closed to others.
    """
    if account.user is None:
        return None
    usual = Path(tempfile.gettempdir()).resolve()
    places = (usual, Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - a folder of its own in it
    return next((place for place in places if place.is_dir() and open_to_others(place)), None)


def give(account: Account, top: Path) -> None:
    """Hand over a file or a whole folder to an account."""
    if account.user is None or account.group is None:
        return
    for path in (top, *top.rglob("*")):
        os.chown(path, account.user, account.group, follow_symlinks=False)
