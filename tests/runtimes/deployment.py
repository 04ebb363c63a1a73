"""A deployment as an operator has one: verbs on the command line, processes that stay.

    python -m tests.runtimes.deployment VERB FOLDER …

The tool answers only while there is no file `gate`; what it does, it does before. So a process can
be killed after an effect and before anybody knows of it.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from axnb.runtimes import Answer
from axnb.runtimes.processes import answers, free_port
from axnb.runtimes.tool_service import Ledger, ToolServer
from axnb.runtimes.tools import ToolClient

_SECONDS = 30.0


class GatedServer(ToolServer):
    """Commits at once, and answers when the gate is open."""

    def __init__(self, folder: Path, port: int) -> None:
        self._gate = folder / "gate"
        super().__init__(Ledger(folder / "tools.sqlite"), port)

    def _answer(self, request: Any) -> tuple[int, Any]:
        found = super()._answer(request)
        while request.method == "POST" and self._gate.exists():
            time.sleep(0.01)
        return found


class Deployment:
    """What its folder says of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "deployment.json"
        if not self._file.exists():
            ports = {name: free_port() for name in ("serve", "actor", "tools")}
            self._file.write_text(json.dumps(ports))
        self.ports: dict[str, int] = json.loads(self._file.read_text())
        self.tools = ToolClient(f"http://127.0.0.1:{self.ports['tools']}")

    @property
    def log(self) -> Path:
        """The event log."""
        return self.folder / "log.sqlite"

    def up(self) -> None:
        """Start what does not run."""
        endpoint = {"default": True, "endpoint": f"127.0.0.1:{self.ports['actor']}"}
        config = self.folder / "ax.yaml"
        told = {
            "version": "v1alpha",
            "server": {"address": f"127.0.0.1:{self.ports['serve']}"},
            "eventlog": {"sqlite": {"filename": str(self.log)}},
            "antigravity": endpoint,
        }
        config.write_text(json.dumps(told))
        ours = [sys.executable, "-m", "axnb.runtimes.embedded"]
        self._start("tools", [sys.executable, "-m", __spec__.name, "serve-tools", str(self.folder)])
        home = ["--home", str(self.folder / "actor"), "--tools", self.tools._url]
        self._start("actor", [*ours, "actor", "--port", str(self.ports["actor"]), *home])
        self._start("serve", [*ours, "serve", "--config", str(config), "--generation", "G8"])

    def _start(self, name: str, command: list[str]) -> None:
        if answers(self.ports[name]):
            return
        with (self.folder / f"{name}.log").open("ab") as log:
            started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        (self.folder / f"{name}.pid").write_text(str(started.pid))
        until(lambda: answers(self.ports[name]))

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """End one of its processes."""
        os.kill(int((self.folder / f"{name}.pid").read_text()), number)
        if name in self.ports:
            until(lambda: not answers(self.ports[name]))

    def send(self, conversation_id: str, text: str) -> Answer:
        """Send a request as a client that prints what it gets."""
        # Only this verb needs them, and they take long to import.
        from axnb.ax.versions import resolve
        from axnb.runtimes.client import Client

        (self.folder / "client.pid").write_text(str(os.getpid()))
        client = Client(f"127.0.0.1:{self.ports['serve']}", resolve("G8"))
        return client.send(
            conversation_id,
            text,
            on_output=lambda o: print(o.value, flush=True) if o.kind == "text" else None,
        )

    def effects(self, operation_id: str) -> list[dict[str, Any]]:
        """Entries of the tool's ledger."""
        return list(self.tools.lookup(operation_id)["effects"])

    def is_pending(self, conversation_id: str) -> bool:
        """Is the last row of a conversation no end?"""
        with closing(sqlite3.connect(self.log)) as connection:
            found = connection.execute(
                "SELECT payload FROM conversation_log WHERE conversation_id = ?"
                " ORDER BY step DESC LIMIT 1",
                [conversation_id],
            ).fetchone()
        return found is not None and "STATE_PENDING" in found[0]


def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so; nothing takes that long."""
    deadline = time.monotonic() + _SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(9)
        time.sleep(0.01)


def _after_the_commit(it: Deployment, operation_id: str) -> None:
    """Close the gate, and wait for the effect."""
    (it.folder / "gate").touch()
    until(lambda: it.effects(operation_id))


def main(verb: str, folder: str, *words: str) -> int:
    """Do a verb; the exit code."""
    it = Deployment(Path(folder))
    (it.folder / "verbs").open("a").write(f"{verb}\n")
    match verb, words:
        case "serve-tools", ():
            GatedServer(it.folder, it.ports["tools"]).serve_forever()
        case "up", ():
            it.up()
        case "start", (conversation_id, text):
            return 1 if it.send(conversation_id, text).error else 0
        case "resume", (conversation_id,):
            it.up()
            return 1 if it.send(conversation_id, "").error else 0
        case "effects", (operation_id,):
            for effect in it.effects(operation_id):
                print(json.dumps(effect))
        case "reverse", (operation_id,):
            for effect in it.effects(operation_id):
                it.tools.release(effect["entry"])
        case "crash", (operation_id,):
            _after_the_commit(it, operation_id)
            it.kill("serve")
            it.kill("actor")
            (it.folder / "gate").unlink()
        case "leave", (operation_id,):
            _after_the_commit(it, operation_id)
            it.kill("client", signal.SIGTERM)
            (it.folder / "gate").unlink()
        case "alert", (conversation_id,):
            if not it.is_pending(conversation_id):
                return 1
            labels = {"alertname": "AxTurnInterrupted", "conversation_id": conversation_id}
            print(json.dumps([{"labels": labels, "status": {"state": "active"}}]))
        case _:
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
