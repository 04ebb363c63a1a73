"""How the programs of a rehearsal are started: the server, the actor, the tools, the watchdog."""

from __future__ import annotations

import sys


def command(name: str, *words: str) -> list[str]:
    """The command of one of `axnb.runtimes.embedded.__main__.PROGRAMS`."""
    return [sys.executable, "-m", "axnb.runtimes.embedded", name, *words]
