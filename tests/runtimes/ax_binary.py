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
subprocess.run(["python3", "-m", "pip", "install", "--quiet", "x"], check=True)
subprocess.Popen(["python3", "main.py", "--host", host, "--port", port, "--other", "1"])
while True:
    try:
        socket.create_connection((host, int(port))).close()
        break
    except OSError:
        time.sleep(0.05)
command = [sys.executable, "-m", "axnb.runtimes.embedded", *arguments]
os.execv(sys.executable, [*command, "--generation", generation])
"""


def wrapper(folder: Path, generation: str, *, name: str = "ax", sidecar: bool = False) -> Path:
    """A program that takes the arguments of `ax`, `serve --config FILE`."""
    folder.mkdir(parents=True, exist_ok=True)
    python, root = shlex.quote(sys.executable), shlex.quote(str(Path(__file__).parents[2]))
    command = f'{python} -m axnb.runtimes.embedded "$@" --generation {generation}'
    if sidecar:
        script = folder / f"{name}.py"
        script.write_text(_WITH_SIDECAR, encoding="utf-8")
        command = f'{python} {shlex.quote(str(script))} {generation} "$@"'
    path = folder / name
    path.write_text(f"#!/bin/sh\nexport PYTHONPATH={root}\nexec {command}\n", encoding="utf-8")
    path.chmod(0o755)
    return path
