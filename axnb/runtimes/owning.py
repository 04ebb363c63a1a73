"""Whose port is it? Whoever answers on one need not be the program that was started for it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from axnb.runtimes.processes import Process

#: The method by which a program of a drill tells its number: a stranger of the same kind has
#: another one.
PID_METHOD = "/axnb.Program/Pid"

#: How long whoever answers on a port may take to say who it is; it is asked again.
ASK_SECONDS = 2.0

_LISTENS = "0A"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def told_pid(port: int) -> int | None:
    """The number of the drill's program on a port; None if nobody tells one."""
    import grpc

    # A channel of its own: others to this port may be waiting since somebody ended.
    options = (("grpc.use_local_subchannel_pool", 1),)
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        try:
            told: bytes = channel.unary_unary(PID_METHOD)(b"", timeout=ASK_SECONDS)
        except grpc.RpcError:
            return None
    return int(told) if told.isdigit() else None


def tells_its_pid(port: int, process: Process) -> bool:
    """Is it a program of the drill, and this process?"""
    return told_pid(port) == process.pid


def is_bound(port: int, process: Process) -> bool:
    """Does the process, or one of its group, listen on a port? It need not be a program of ours.

    By /proc; without it, as on macOS, that the process runs has to be enough.
    """
    if not Path(_TABLES[0]).exists():
        return process.is_running
    wanted = set(_sockets(port))
    with suppress(ProcessLookupError):
        group = os.getpgid(process.pid)
        return any(not wanted.isdisjoint(_open_files(pid)) for pid in _members(group))
    return False


#: Looks at a process that has no words yet, and the seconds between two.
_LOOKS, _POLL_SECONDS = 50, 0.002


def command_line(pid: int) -> str:
    """What a process was started with; empty if there is none of that number."""
    try:
        for _ in range(_LOOKS):
            if found := Path(f"/proc/{pid}/cmdline").read_bytes():
                return os.fsdecode(found)
            # While a process becomes its program, it has no words for a moment.
            time.sleep(_POLL_SECONDS)
        return ""
    except OSError:
        words = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
    with suppress(OSError):
        told = subprocess.run(words, capture_output=True, check=False)  # noqa: S603
        return os.fsdecode(told.stdout)
    return ""


def _sockets(port: int) -> Iterator[str]:
    """The sockets that listen on a port, as a process's open files name them."""
    for table in _TABLES:
        with suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{fields[9]}]"


def _members(group: int) -> Iterator[int]:
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if os.getpgid(int(name)) == group:
                yield int(name)


def _open_files(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for file in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.add(os.readlink(file))
    return found
