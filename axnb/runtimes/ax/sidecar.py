"""The `python3` that an AX server finds, and what it is to be: the harness that runs already.

Since v0.2.0 AX starts its built-in harness itself: `python3 -m pip …`, and then `python3 … --host H
--port P`, for whose port it waits. The one that comes first on its PATH is a small script of ours.

    python -m axnb.runtimes.ax.sidecar SPEC SERVER --host H --port P …

SERVER is the process that started it: beside a harness that runs already, it ends with either. It
stays in the group that AX gave it, by which AX may end it.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import axnb
from axnb.runtimes.processes import answers

#: Between two looks whether both are still there: nobody tells that to a process.
_POLL_SECONDS = 0.3

_SCRIPT = """#!/bin/sh
case " $* " in
*" --port"*) ;;
*" --version "*|*" -V "*) echo "Python 3.12.0"; exit 0 ;;
*) exit 0 ;;
esac
PYTHONPATH={root}
export PYTHONPATH
exec {python} -m axnb.runtimes.ax.sidecar {spec} $PPID "$@"
"""


def source_root() -> str:
    """Where `axnb` is imported from; for the PYTHONPATH of a program with a small environment."""
    return str(Path(axnb.__file__).resolve().parents[1])


def write_sidecar(folder: Path, actor: Sequence[str], environment: Mapping[str, str]) -> None:
    """Write `python3` and `python` into a folder of their own.

    `actor` is the harness's command without its port. Who becomes the harness is in whatever group
    or session AX gave it: its number is in `sidecar.pid`, and it ends with us.
    """
    folder.mkdir(exist_ok=True)
    spec = folder / "sidecar.json"
    words = [*actor, "--end-with", str(os.getpid())]
    told = {"actor": words, "environment": dict(environment), "pid": str(pid_file(folder))}
    spec.write_text(json.dumps(told), encoding="utf-8")
    names = {"root": source_root(), "python": sys.executable, "spec": str(spec)}
    script = _SCRIPT.format(**{name: shlex.quote(word) for name, word in names.items()})
    for name in ("python3", "python"):
        path = folder / name
        path.write_text(script, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def pid_file(folder: Path) -> Path:
    """Where the number is of a sidecar that became the harness."""
    return folder / "sidecar.pid"


def main(arguments: list[str]) -> int:
    """Be the harness: stand beside the one that runs, or become it."""
    spec = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    server = int(arguments[1])
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_known_args(arguments[2:])[0].port
    if not answers(port):
        Path(spec["pid"]).write_text(str(os.getpid()), encoding="utf-8")
        command = [*spec["actor"], "--port", str(port)]
        os.execve(command[0], command, spec["environment"])  # noqa: S606 - our own program
    while os.getppid() == server and answers(port):
        time.sleep(_POLL_SECONDS)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
