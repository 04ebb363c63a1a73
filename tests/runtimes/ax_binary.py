"""Stand-ins for an `ax` binary: scripts that become the embedded server."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

#: What AX does since v0.2.0 before it serves: it runs `python3`, and waits for its port.
_WITH_SIDECAR = """
import os, subprocess, sys, time, socket, yaml
generation, arguments = sys.argv[1], sys.argv[2:]
config = yaml.safe_load(open(arguments[arguments.index("--config") + 1]))
host, port = config["antigravity"]["endpoint"].split(":")
subprocess.run(["python3", "--version"], check=True)
is_strict = os.environ.get("STRICT") == "1"
if is_strict and socket.socket().connect_ex((host, int(port))) == 0:
    sys.exit("the port of the harness is in use")
subprocess.run(["python3", "-m", "pip", "install", "--quiet", "x"], check=True)
words = ["python3", "main.py", "--host", host, "--port", port, "--other", "1"]
subprocess.Popen(words, start_new_session=is_strict)
while True:
    try:
        socket.create_connection((host, int(port))).close()
        break
    except OSError:
        time.sleep(0.05)
command = [sys.executable, "-m", "axnb.runtimes.embedded", *arguments]
os.execv(sys.executable, [*command, "--generation", generation])
"""


def wrapper(
    folder: Path,
    generation: str,
    *,
    name: str = "ax",
    sidecar: bool = False,
    strict: bool = False,
) -> Path:
    """A program that takes the arguments of `ax`, `serve --config FILE`.

    A strict one ends if its harness runs already, and gives it a session of its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    python, root = shlex.quote(sys.executable), shlex.quote(str(Path(__file__).parents[2]))
    command = f'{python} -m axnb.runtimes.embedded "$@" --generation {generation}'
    if sidecar:
        script = folder / f"{name}.py"
        script.write_text(_WITH_SIDECAR, encoding="utf-8")
        command = f'{python} {shlex.quote(str(script))} {generation} "$@"'
    path = folder / name
    path.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={root} STRICT={int(strict)}\nexec {command}\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path
