"""A node: the server and its actor, in one process group."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from axnb.ax.versions import Generation
from axnb.errors import AxnbError
from axnb.runtimes import Answer, Policy, Snapshot, Task, failpoints
from axnb.runtimes.asking import Asked
from axnb.runtimes.client import Client
from axnb.runtimes.failpoints import PLACES
from axnb.runtimes.holding import Holds
from axnb.runtimes.owning import tells_its_pid
from axnb.runtimes.processes import Process, free_port, wait_until_answers
from axnb.runtimes.programs import command
from axnb.runtimes.rehearsing import World
from axnb.runtimes.run_alerts import ALERT_SECONDS

#: The harness of a rehearsal: the built-in one, which refuses an empty start.
HARNESS = "antigravity"

_POLL_SECONDS = 0.01


@dataclass(frozen=True)
class NodeSetup:
    """What a node runs with."""

    world: World
    folder: Path
    #: A path or a DSN.
    log: str
    #: Where the actor's snapshots go; None for nowhere.
    bucket: str | None
    policy: Policy
    task: Task
    #: Do the snapshots lie where somebody else's may, and go at the end?
    removes_bucket: bool = False
    #: How long an alert is waited for.
    alert_seconds: float = ALERT_SECONDS


class Node:
    """The server and the actor. They keep their ports when they are started anew."""

    def __init__(self, setup: NodeSetup, holds: Holds, generation: Generation) -> None:
        self._setup = setup
        self._folder = setup.folder
        self._holds = holds
        self.generation = generation
        self.port, self.actor_port = free_port(), free_port()
        self._group = setup.world.reaper.group()
        self._server: Process | None = None
        self._actor: Process | None = None

    # --- processes -----------------------------------------------------------------------------

    def start(self, *, restore: bool = False) -> None:
        """Start what does not run, the actor first; `restore` it from its newest snapshot."""
        self._revive()
        if self._actor is None or not self._actor.is_running:
            self._actor = self._start_actor(restore)
        if self._server is None or not self._server.is_running:
            self._server = self._start_server()

    def _revive(self) -> None:
        if not self._group.is_alive:
            self._group = self._setup.world.reaper.group()

    def crash(self) -> None:
        """SIGKILL the server and the actor, at once."""
        self._group.kill()

    def kill_server(self) -> None:
        """SIGKILL the server alone."""
        assert self._server is not None
        self._server.kill()

    def evict(self) -> None:
        """SIGKILL the actor alone; its files are lost with its machine, but for the journal."""
        assert self._actor is not None
        self._actor.kill()
        shutil.rmtree(self._home / "durable", ignore_errors=True)

    def stop(self) -> None:
        """Stop in order: SIGTERM to the server, and wait for it; then the actor."""
        assert self._server is not None
        self._server.send(signal.SIGTERM)
        self._server.wait(30.0)
        if self._actor is not None:
            self._actor.kill()

    def _start_actor(self, restore: bool) -> Process:
        words = ["--port", str(self.actor_port), "--home", str(self._home)]
        words += ["--generation", self.generation.name, "--tools", self._setup.world.tools_url]
        if self._setup.bucket is not None:
            words += ["--snapshots", self._setup.bucket]
            words += ["--restore", self._setup.task.conversation_id] if restore else []
        actor = self._spawn("actor", words)
        wait_until_answers(self.actor_port, actor, tells_its_pid)
        return actor

    def _start_server(self) -> Process:
        self._write_config()
        words = ["--config", str(self._config), "--generation", self.generation.name]
        server = self._spawn("serve", [*words, "--policy", self._setup.policy])
        wait_until_answers(self.port, server, tells_its_pid)
        return server

    def _spawn(self, name: str, words: list[str]) -> Process:
        armed = {failpoints.VARIABLE: self._holds.variable(PLACES)}
        return self._group.start(
            command(name, *words),
            log=self._folder / f"{name}.log",
            role="server" if name == "serve" else name,
            env={**os.environ, **armed},
        )

    @property
    def _home(self) -> Path:
        return self._folder / "actor"

    @property
    def _config(self) -> Path:
        return self._folder / "ax.yaml"

    def _write_config(self) -> None:
        self._config.write_text(yaml.safe_dump(self._configuration()), encoding="utf-8")

    def _configuration(self) -> dict[str, Any]:
        """The ax.yaml of the server."""
        log = self._setup.log
        is_file = "://" not in log
        harness = {"default": True, "endpoint": f"127.0.0.1:{self.actor_port}"}
        return {
            "version": "v1alpha",
            "server": {"address": f"127.0.0.1:{self.port}"},
            "eventlog": {"sqlite": {"filename": log}} if is_file else {"postgres": {"dsn": log}},
            # Of the two layouts a server reads its own.
            HARNESS: harness,
            "harnesses": {HARNESS: dict(harness)},
            "axnb": {"suspend": self._setup.bucket is not None},
        }

    # --- clients -------------------------------------------------------------------------------

    def ask(self, text: str = "", *, cursor: int | None = None) -> Answer:
        """Send one request to its end; without text it is an empty one."""
        conversation_id, config = self._setup.task.conversation_id, self._turn(text)
        return self.client.send(conversation_id, text, config=config, cursor=cursor)

    def begin(self, text: str) -> Asked:
        """Send one request, and go on while it runs."""
        task = self._setup.task
        return Asked(self.client.open(task.conversation_id, text, config=self._turn(text)))

    @property
    def client(self) -> Client:
        """A client of the server as it is now."""
        return Client(f"127.0.0.1:{self.port}", self.generation)

    def _turn(self, text: str) -> bytes:
        """The configuration of a turn: what the actor is told of its tool."""
        if not text:
            return b""
        return json.dumps({"axnb": {"retry": self._setup.task.retry}}).encode()

    def wait_for_end_of_stream(self, seconds: float = 20.0) -> None:
        """Wait until the server says that a stream has failed: that it knows the client is gone."""
        deadline = time.monotonic() + seconds
        while b"Stream failed" not in (self._folder / "serve.log").read_bytes():
            if time.monotonic() > deadline:
                raise AxnbError("the server never took note that its client was gone.")
            time.sleep(_POLL_SECONDS)

    # --- the actor -----------------------------------------------------------------------------

    def suspend(self) -> Snapshot:
        """Have the actor take a snapshot, wherever it is in its turn."""
        return Snapshot(**self._call_actor("Suspend"))

    def restored(self) -> Snapshot | None:
        """The snapshot from which the actor was restored."""
        found = self._call_actor("State")["restored"]
        return None if found is None else Snapshot(**found)

    def actor_summary(self) -> Mapping[str, Any] | None:
        """What the actor says of its state now; None where it does not answer."""
        with suppress(AxnbError):
            found: Mapping[str, Any] = self._call_actor("State")["summary"]
            return found
        return None

    def _call_actor(self, method: str) -> dict[str, Any]:
        import grpc

        told = json.dumps({"conversation_id": self._setup.task.conversation_id}).encode()
        with grpc.insecure_channel(f"127.0.0.1:{self.actor_port}") as channel:
            try:
                answer = channel.unary_unary(f"/axnb.Actor/{method}")(told, timeout=20.0)
            except grpc.RpcError as err:
                if err.code() is grpc.StatusCode.FAILED_PRECONDITION:
                    raise AxnbError(f"the actor refuses: {err.details()}") from err
                raise AxnbError(f"the actor does not answer: {err.code().name}.") from err
        found = json.loads(answer)
        assert isinstance(found, dict)
        return found

    def reported(self) -> tuple[dict[str, Any], ...]:
        """Requests that the actor says it made: its journal, which outlives every crash. A line
        that was torn is passed over."""
        return tuple(line for line in self._journal() if line is not None)

    def noted(self, operation_id: str) -> int:
        """How many requests for an operation the actor was about to make; what was torn may be
        one."""
        return sum(line is None or line["operation_id"] == operation_id for line in self._journal())

    def _journal(self) -> list[dict[str, Any] | None]:
        """The lines of the journal; None for one that was torn."""
        try:
            lines = (self._home / "journal.jsonl").read_bytes().splitlines()
        except FileNotFoundError:
            return []
        return [_request(line) for line in lines if line]


def _request(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "operation_id" in found else None
