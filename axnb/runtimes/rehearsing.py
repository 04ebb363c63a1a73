"""The world around a node: the tool service, the alerts, and the reaper of all processes.

It stands outside of every node, so it is what can be asked after a crash. One of each serves all
rehearsals of a run.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from axnb.errors import AxnbError
from axnb.runtimes import Reversal, Task
from axnb.runtimes.holding import Holds
from axnb.runtimes.owning import ASK_SECONDS
from axnb.runtimes.processes import Group, Reaper, free_port, wait_until_answers
from axnb.runtimes.programs import command
from axnb.runtimes.run_alerts import Alerts
from axnb.runtimes.tools import ToolClient
from axnb.text import count

#: Without progress for so long an unfinished turn is told to an operator.
_STALL_SECONDS = 0.4


class World:
    """The tool service, the alerts and the reaper of a run.

    `scratch` goes with it, even if we are killed, unless it is to be kept.
    """

    def __init__(
        self, scratch: Path, *, idempotent: bool, alertmanager: str = "", keep: bool = False
    ) -> None:
        with ExitStack() as stack:
            # Closed last: no watchdog may raise again what is resolved then.
            self.alerts = Alerts(alertmanager)
            stack.callback(self.alerts.close)
            self.reaper = stack.enter_context(Reaper(None if keep else scratch))
            self._group = self.reaper.group()
            self.tools_url = self._start_tools(scratch, idempotent)
            self.tools = ToolClient(self.tools_url)
            self._closing = stack.pop_all()

    def _start_tools(self, scratch: Path, idempotent: bool) -> str:
        """The address of the tool service."""
        port, token = free_port(), secrets.token_hex(8)
        words = ["--port", str(port), "--db", str(scratch / "tools.sqlite"), "--token", token]
        words += ["--dedup"] if idempotent else []
        service = self._group.start(
            command("tools", *words), log=scratch / "tools.log", role="tool service"
        )
        url = f"http://127.0.0.1:{port}"
        asked = ToolClient(url, seconds=ASK_SECONDS)

        def is_its(*_: object) -> bool:
            try:
                return asked.token() == token
            except AxnbError:
                return False

        wait_until_answers(port, service, is_its)
        return url

    def close(self) -> None:
        """End every process of the run."""
        self._closing.close()

    def holds(self) -> Holds:
        """What holds the processes of a rehearsal; it is closed with the run at the latest."""
        made = Holds()
        self._closing.callback(made.close)
        return made

    def watch(self, log: str, generation: str, ports: Sequence[int], folder: Path) -> Group:
        """Start a watchdog beside a node; it raises alerts for the node's log until it is killed.

        `log` is a path or a DSN, `ports` are the server's and the actor's.
        """
        server, actor = ports
        words = ["--log", log, "--generation", generation, "--alertmanager", self.alerts.url]
        words += ["--server-port", str(server), "--actor-port", str(actor)]
        words += ["--stall", str(_STALL_SECONDS), "--run", self.alerts.run]
        group = self.reaper.group()
        group.start(command("watchdog", *words), log=folder / "watchdog.log", role="watchdog")
        return group

    def effects(self, task: Task) -> tuple[dict[str, Any], ...]:
        """Entries of the tool's ledger of the task: by its operation id, and by its business key
        where the operation ids differ."""
        found = self.tools.ledger()["effects"]
        key = (task.conversation_id, task.item)
        return tuple(
            effect
            for effect in found
            if effect["operation_id"] == task.operation_id
            or (effect["conversation_id"], effect["item"]) == key
        )

    def requests(self, task: Task) -> tuple[dict[str, Any], ...]:
        """Requests for the task's operation that reached the tool."""
        return tuple(self.tools.lookup(task.operation_id)["requests"])

    def reverse(self, task: Task) -> Reversal:
        """Release every effect of the task, and read the tool back."""
        there = [effect for effect in self.effects(task) if effect["status"] == "reserved"]
        for effect in there:
            self.tools.release(effect["entry"])
        read_back = self.effects(task)
        sentence = f"{count(len(there), 'effect')} released, and the ledger was read back"
        return Reversal(read_back, sentence if read_back else "there was nothing to reverse")
