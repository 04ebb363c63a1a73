"""A real server and a harness of ours, in one process group."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from axnb.errors import AxnbError
from axnb.runtimes import failpoints
from axnb.runtimes.ax.binary import Binary
from axnb.runtimes.ax.sidecar import pid_file, source_root, write_sidecar
from axnb.runtimes.embedded.node import Node, NodeSetup
from axnb.runtimes.holding import Holds
from axnb.runtimes.owning import command_line, is_bound, tells_its_pid, told_pid
from axnb.runtimes.processes import Process, wait_until_answers
from axnb.runtimes.programs import command

#: What a server finds on its PATH after our own folder.
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class AxNode(Node):
    """As an embedded node; the server is a binary, which knows nothing of failpoints."""

    def __init__(self, setup: NodeSetup, holds: Holds, binary: Binary) -> None:
        super().__init__(setup, holds, binary.generation)
        self._binary = binary

    def use(self, binary: Binary) -> None:
        """Put another binary in the place of a server that does not run."""
        self._binary = binary
        self.generation = binary.generation

    def start(self, *, restore: bool = False) -> None:
        """Start what does not run. Raises AxnbError if the server does not start its harness."""
        if not self._binary.starts_harness:
            super().start(restore=restore)
            return
        self._revive()
        if self._server is None or not self._server.is_running:
            # A server that was killed leaves its harness on the port, and none of these bears that.
            self._end_sidecar()
            self._server = self._start_server()
        told = told_pid(self.actor_port)
        if told is None or told != self._sidecar():
            raise AxnbError(f"{self._binary.path.name} serves, and its harness does not answer.")

    def crash(self) -> None:
        """SIGKILL the server and the actor, whoever started that."""
        super().crash()
        self._end_sidecar()

    def stop(self) -> None:
        """Stop in order; a server may have ended its harness itself."""
        super().stop()
        self._end_sidecar()

    def _sidecar(self) -> int | None:
        """The number of a sidecar that became the harness, as it says."""
        try:
            return int(pid_file(self._tools).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _end_sidecar(self) -> None:
        pid = self._sidecar()
        # The file may be old, and the number somebody else's by now.
        if pid is not None and pid > 1 and f"{self._folder}/" in command_line(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        pid_file(self._tools).unlink(missing_ok=True)

    def is_understood(self) -> bool:
        """Does the server know the method by which a client of this generation sends requests?

        An empty request for a conversation that never was leaves nothing behind.
        """
        answer = self.ask()
        return answer.error is None or not answer.error.startswith("UNIMPLEMENTED")

    def _start_actor(self, restore: bool) -> Process:
        self._say_generation()
        words = [*self._actor_command(), "--port", str(self.actor_port)]
        log = self._folder / "actor.log"
        environment = self._actor_environment()
        actor = self._group.start(words, log=log, role="actor", env=environment)
        wait_until_answers(self.actor_port, actor, tells_its_pid)
        return actor

    def _start_server(self) -> Process:
        self._say_generation()
        self._write_config()
        write_sidecar(self._tools, self._actor_command(), self._actor_environment())
        home = self._folder / "home"
        home.mkdir(exist_ok=True)
        server = self._group.start(
            [self._binary.path, "serve", "--config", self._config],
            log=self._folder / "serve.log",
            role="server",
            env={
                "PATH": f"{self._tools}:{_SYSTEM_PATH}",
                "HOME": str(home),
                "TMPDIR": str(home),
                "AX_DURABLE_DIR": str(home),
                # It looks whether there is one; nobody is asked anything with it.
                "GEMINI_API_KEY": "none",
            },
            cwd=home,
        )
        wait_until_answers(self.port, server, is_bound)
        return server

    def _turn(self, text: str) -> bytes:
        """A real server is sent what `ax` sends; our actor needs to be told nothing."""
        return b""

    def _say_generation(self) -> None:
        """The actor reads at each call which messages the server speaks."""
        aside = self._generation_file.with_suffix(".new")
        aside.write_text(self.generation.name, encoding="utf-8")
        aside.replace(self._generation_file)

    @property
    def _tools(self) -> Path:
        """The folder that comes first on the server's PATH."""
        return self._folder / "bin"

    @property
    def _generation_file(self) -> Path:
        return self._folder / "generation"

    def _actor_command(self) -> list[str]:
        words = ["--home", str(self._home), "--tools", self._setup.world.tools_url]
        return command("actor", *words, "--generation-file", str(self._generation_file))

    def _actor_environment(self) -> dict[str, str]:
        """Of the actor alone: a server that is our own program must not be held either."""
        places = [name for name in failpoints.PLACES if name.startswith("actor.")]
        armed = {failpoints.VARIABLE: self._holds.variable(places)}
        # A sidecar that becomes the actor gets this, and nothing of the server's.
        return {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": source_root(), **armed}
