"""Named places in the real code path at which a drill holds a process, to kill it from outside.

A program calls `reach`. It returns at once unless the environment names the place; then the process
asks the drill over a loopback connection and stays where it is until it may go on. It never kills
itself: SIGKILL comes from outside, so that nothing of it can be cleaned up. When the drill is gone,
the process ends.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

#: `127.0.0.1:PORT/TOKEN/NAME,NAME…`
VARIABLE = "AXNB_FAILPOINTS"

#: Every place, in the order in which a turn comes to them.
PLACES = (
    "server.input-logged",
    "actor.started",
    "actor.before-call",
    "actor.emitted",
    "actor.committed",
    "actor.ended",
    "server.received",
    "server.append.begun",
    "server.append.numbered",
    "server.append.inserted",
    "server.append.committed",
    "server.sent",
)

#: What a process ends with when nobody is there to let it go on.
ABANDONED = 70


def reach(name: str, **facts: Any) -> None:
    """Say that the process is at `name`; held there if a drill has armed it.

    `facts` are plain values by which the drill tells one passage from another.
    """
    armed = os.environ.get(VARIABLE)
    if not armed:
        return
    address, token, names = armed.split("/", 2)
    if name not in names.split(","):
        return
    host, _, port = address.rpartition(":")
    told = {"token": token, "name": name, "pid": os.getpid(), "pgid": os.getpgrp(), **facts}
    try:
        with socket.create_connection((host, int(port))) as line:
            line.sendall(json.dumps(told).encode() + b"\n")
            answer = line.makefile("rb").readline()
    except OSError:
        answer = b""
    if answer != b"go\n":
        os._exit(ABANDONED)
