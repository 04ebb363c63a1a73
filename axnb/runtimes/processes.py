"""Processes of a run that cannot be left over, whatever becomes of the run itself.

    with Reaper(scratch) as reaper:
        node = reaper.group()
        server = node.start([…], log=scratch / "server.log")
        actor = node.start([…], log=scratch / "actor.log")
        wait_until_answers(port, server)
        node.kill()

A group has an anchor, a process that leads it and does nothing else: its number is ours until the
whole group is gone, whichever of the others ends first, so a kill never meets a stranger. The
reaper is one small shell that waits for the end of a pipe that we hold. It learns of our end even
by SIGKILL, on every system and from any thread (PR_SET_PDEATHSIG is Linux's alone, fires already
when the thread that started a process ends, and would leave the folder). POSIX only.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from axnb.errors import AxnbError
from axnb.text import cut, safe

#: How long a program may take to answer on its port.
START_SECONDS = 30.0
_POLL_SECONDS = 0.005

#: A folder of a database is tens of thousands of files.
_CLEAN_SECONDS = 120.0

# `+ TARGET SIGNAL` announces, `- TARGET` takes it back; a target is what kill(1) takes. The end of
# the lines means that the run is over, or was killed. What is killed is waited for before the
# folder goes: a database gives its shared memory back when it ends in order, and leaves it for good
# when its files vanish under it.
_REAPER = """
trap '' HUP INT TERM
list=
forget() {
    rest=
    for entry in $list; do
        test "${entry%:*}" = "$1" || rest="$rest $entry"
    done
    list=$rest
}
while read -r word target name; do
    forget "$target"
    test "$word" = + && list="$list $target:$name"
done
for entry in $list; do kill -s "${entry#*:}" -- "${entry%:*}"; done
for entry in $list; do
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        kill -s 0 -- "${entry%:*}" || break
        sleep 0.2
    done
done
test -z "$1" || rm -rf -- "$1"
"""

# A process announces itself before it becomes the program, while it still holds the pipe: there is
# no moment in which nobody knows of it.
_ANCHOR = 'echo "+ -$$ KILL"; exec sleep 1000000000 >&2'
_ALONE = 'echo "+ $$ $0"; exec "$@" >&2'


class Process:
    """A child. It is ended with its group, or by `kill`.

    Messages call it by its role: its number is another one in every run.
    """

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        log: Path,
        role: str = "program",
        *,
        is_log_kept: bool = False,
    ) -> None:
        self._popen = popen
        self.log = log
        self.role = role
        self._is_log_kept = is_log_kept

    @property
    def pid(self) -> int:
        """Its number."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """What it ended with, minus the signal's number if by one; None while it runs."""
        return self._popen.poll()

    @property
    def is_running(self) -> bool:
        """Has it not ended yet?"""
        return self._popen.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens if it has ended."""
        self._popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL it and wait for its end. Others of its group go on."""
        self._popen.kill()
        self._popen.wait()

    def wait(self, seconds: float | None = None) -> int:
        """Wait for its end; its return code. Raises AxnbError if it has not ended by then."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AxnbError(f"the {self.role} has not ended in {seconds:g} s.") from None

    @property
    def ending(self) -> str:
        """How it has ended, for a message: nothing of what it printed, which may be a prompt."""
        code = self.returncode or 0
        told = f"exit code {code}" if code >= 0 else f"signal {-code}"
        kept = f"; its log is {self.log.parent.name}/{self.log.name}" if self._is_log_kept else ""
        return f"({told}){safe(kept)}"

    def last_line(self) -> str:
        """The last line of its log that is not empty, safe to show, or an empty text."""
        with suppress(OSError), self.log.open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 4096))
            lines = log.read().decode("utf-8", "replace").split("\n")
            return cut(safe(next((line for line in reversed(lines) if line.strip()), "")), 300)
        return ""


@dataclass(eq=False)
class Group:
    """A process group: what crashes together."""

    _anchor: subprocess.Popen[bytes]
    _reaper: Reaper
    _members: list[Process] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def pgid(self) -> int:
        """Its number."""
        return self._anchor.pid

    @property
    def is_alive(self) -> bool:
        """Was it not killed yet?"""
        return self._anchor.poll() is None

    def start(
        self,
        command: Sequence[str | Path],
        *,
        log: Path,
        role: str = "program",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Process:
        """Start a program in the group; what it prints is added to `log`.

        Raises AxnbError if it cannot be started, or the group was killed.
        """
        with self._lock:
            if not self.is_alive:
                raise AxnbError(f"the {role} cannot be started: its process group was ended.")
            popen = _spawn(command, log, env, cwd, process_group=self.pgid)
            process = Process(popen, log, role, is_log_kept=self._reaper.keeps_files)
            self._members.append(process)
            return process

    def kill(self) -> None:
        """SIGKILL everything in the group at once, and wait for the ends; twice is fine."""
        with self._lock:
            if not self.is_alive:
                return
            os.killpg(self.pgid, signal.SIGKILL)
            for member in self._members:
                member.wait()
            self._anchor.wait()
            self._reaper.forget(-self.pgid)


class Reaper:
    """Ends every announced process when it is closed, or when we are gone; see the module.

    `folder` is made, and removed at the end, after the processes; None keeps all files. The end of
    our hold on the pipe is what counts, so nobody may fork this process without starting a program.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if os.name != "posix":
            raise AxnbError("processes are interrupted by SIGKILL, which this system has not.")
        self._folder = folder
        self._groups: list[Group] = []
        self._lock = threading.Lock()
        self._shell = subprocess.Popen(  # noqa: S603 - our own shell script
            ["/bin/sh", "-c", _REAPER, "sh", str(folder.resolve()) if folder else ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # neither Ctrl-C nor a signal to our group ends it early
        )
        self._closed = False
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def group(self) -> Group:
        """A new process group."""
        with self._lock:
            if self._closed:
                raise AxnbError("the run is over; nothing starts any more.")
            anchor = subprocess.Popen(  # noqa: S603 - our own shell script
                ["/bin/sh", "-c", _ANCHOR],
                stdin=subprocess.DEVNULL,
                stdout=self._pipe,
                stderr=subprocess.DEVNULL,
                cwd="/",
                process_group=0,
            )
            group = Group(anchor, self)
            self._groups.append(group)
            return group

    def start_alone(
        self,
        command: Sequence[str | Path],
        *,
        log: Path,
        end_by: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        through: Sequence[str] = (),
    ) -> Process:
        """Start a server that has to end in order, in a session of its own; its log is new.

        It is ended by the signal `end_by` (`QUIT`; `0` if it ends by itself) when we are gone.
        Who starts it ends it, and says so by `forget`. `through` are words that become it.
        """
        log.unlink(missing_ok=True)
        popen = _spawn(
            [*through, "/bin/sh", "-c", _ALONE, end_by, *command],
            log,
            env,
            cwd,
            stdout=self._pipe,
            start_new_session=True,
        )
        return Process(popen, log)

    @property
    def keeps_files(self) -> bool:
        """Does no folder go with it?"""
        return self._folder is None

    def forget(self, target: int) -> None:
        """Take note that a process (or a group, by its negative number) has ended."""
        with suppress(BrokenPipeError):
            os.write(self._pipe.fileno(), f"- {target}\n".encode())

    def close(self) -> None:
        """End every group, remove the folder; AxnbError if that cannot be done. Twice is fine."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for group in self._groups:
            group.kill()
        try:
            self._shell.communicate(timeout=_CLEAN_SECONDS)
        except subprocess.TimeoutExpired:
            raise AxnbError("what a run left could not be cleaned up in time.") from None
        if self._folder is not None and self._shell.returncode != 0:
            raise AxnbError(f"the folder {safe(str(self._folder))} could not be removed.")

    @property
    def _pipe(self) -> IO[bytes]:
        pipe = self._shell.stdin
        assert pipe is not None
        return pipe


def _spawn(
    command: Sequence[str | Path],
    log: Path,
    env: Mapping[str, str] | None,
    cwd: Path | None,
    **options: Any,
) -> subprocess.Popen[bytes]:
    try:
        with log.open("ab") as out:
            options.setdefault("stdout", out)
            return subprocess.Popen(  # noqa: S603 - an argument list, never a shell's line
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stderr=out,
                env=None if env is None else dict(env),
                cwd=cwd,
                **options,
            )
    except OSError as err:
        raise AxnbError(
            f"{safe(str(command[0]))} cannot be started: {err.strerror or 'unknown error'}."
        ) from err


#: Below the ports that systems give to connections (32768 or 49152 and up): none of them can take
#: a port between the look and the start of the program that is to have it.
_PORTS = range(15000, 32000)
_given: set[int] = set()
_giving = threading.Lock()


def free_port() -> int:
    """A port of the loopback address that was free just now, another one at each call."""
    with _giving:
        for _ in range(len(_PORTS)):
            port = random.choice(_PORTS)  # noqa: S311 - nothing is secret about it
            if port not in _given and _can_be_bound(port):
                _given.add(port)
                return port
    raise AxnbError("there is no free port on the loopback address.")


def _can_be_bound(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def answers(port: int) -> bool:
    """Does somebody listen on a port of the loopback address?"""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as line:
            # A connection to a port of the system's own can be one to itself.
            return bool(line.getsockname() != line.getpeername())
    except OSError:
        return False


def wait_until_answers(
    port: int,
    process: Process,
    is_its: Callable[[int, Process], bool] = lambda *_: True,
    seconds: float = START_SECONDS,
) -> None:
    """Wait until a program listens on its port, and `is_its`: it is this program that does.

    Raises AxnbError if it ends before, does not answer in time, or the port is somebody else's.
    """
    deadline = time.monotonic() + seconds
    while True:
        # Whoever listens, this program listens only as long as it runs.
        if answers(port) and is_its(port, process) and process.is_running:
            return
        is_over = time.monotonic() > deadline
        if (is_over or not process.is_running) and answers(port):
            raise AxnbError(f"port {port} is somebody else's: the {process.role} cannot use it.")
        if not process.is_running:
            raise AxnbError(f"the {process.role} ended before it answered {process.ending}.")
        if is_over:
            raise AxnbError(f"the {process.role} does not answer on its port.")
        time.sleep(_POLL_SECONDS)
