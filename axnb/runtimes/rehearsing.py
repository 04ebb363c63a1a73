"""The world around a node: the tool service, the alerts, and the reaper of all processes.

It stands outside of every node, so it is what can be asked after a crash. One of each serves all
rehearsals of a run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from axnb.errors import AxnbError
from axnb.runtimes import Reversal, Task
from axnb.runtimes.alerts import AlertReceiver, active
from axnb.runtimes.processes import Group, Reaper, free_port, wait_until_answers
from axnb.runtimes.programs import command
from axnb.runtimes.tools import ToolClient
from axnb.text import count

#: How long an alert may take to be raised or resolved. What has not come by then, has not come.
ALERT_SECONDS = 30.0

_POLL_SECONDS = 0.1

#: Without progress for so long an unfinished turn is told to an operator.
_STALL_SECONDS = 0.4


class Alerts:
    """The alerts of a run: at a small receiver of ours, or at any Alertmanager by its address."""

    def __init__(self, alertmanager: str = "") -> None:
        self._receiver = None if alertmanager else AlertReceiver()
        self.url = self._receiver.url if self._receiver else alertmanager
        #: What an Alertmanager told of a conversation while it was active.
        self._seen: dict[str, list[dict[str, Any]]] = {}
        self._is_readable = True

    def close(self) -> None:
        """Stop the receiver."""
        if self._receiver is not None:
            self._receiver.close()

    def wait_firing(self, conversation_id: str, seconds: float = ALERT_SECONDS) -> None:
        """Wait until an alert names the conversation; what never comes is seen later."""
        self._wait(conversation_id, seconds, firing=True)

    def wait_resolved(self, conversation_id: str, seconds: float = ALERT_SECONDS) -> None:
        """Wait until none fires any more."""
        self._wait(conversation_id, seconds, firing=False)

    def of(self, conversation_id: str) -> tuple[dict[str, Any], ...] | None:
        """Every alert that named the conversation: `{labels, annotations, state}`, where the state
        is `firing` or `resolved`; None from an Alertmanager that cannot be read."""
        if self._receiver is not None:
            told = [a for a in self._receiver.alerts() if _names(a, conversation_id)]
            return tuple(_told(alert, is_firing=_is_firing(alert)) for alert in told)
        # Alertmanager does not tell what is resolved: what was active and is gone, is.
        now = [alert["labels"] for alert in self._active(conversation_id)]
        if not self._is_readable:
            return None
        seen = self._seen.get(conversation_id, [])
        return tuple(_told(alert, is_firing=alert["labels"] in now) for alert in seen)

    def _wait(self, conversation_id: str, seconds: float, *, firing: bool) -> None:
        if self._receiver is not None:
            with suppress(AxnbError):
                self._receiver.wait_for(
                    lambda alerts: _fires(alerts, conversation_id) == firing, seconds
                )
            return
        deadline = time.monotonic() + seconds
        while bool(self._active(conversation_id)) != firing and self._is_readable:
            if time.monotonic() > deadline:
                return
            time.sleep(_POLL_SECONDS)

    def _active(self, conversation_id: str) -> list[dict[str, Any]]:
        try:
            found = active(self.url, {"conversation_id": conversation_id})
        except AxnbError:
            # What cannot be read is not known: that is neither an alert nor none.
            self._is_readable = False
            return []
        seen = self._seen.setdefault(conversation_id, [])
        known = [alert["labels"] for alert in seen]
        seen += [alert for alert in found if alert["labels"] not in known]
        return found


def _names(alert: Mapping[str, Any], conversation_id: str) -> bool:
    return bool(alert["labels"].get("conversation_id") == conversation_id)


def _is_firing(alert: Mapping[str, Any]) -> bool:
    return bool(alert["status"]["state"] == "active")


def _fires(alerts: Sequence[Mapping[str, Any]], conversation_id: str) -> bool:
    return any(_names(alert, conversation_id) and _is_firing(alert) for alert in alerts)


def _told(alert: Mapping[str, Any], *, is_firing: bool) -> dict[str, Any]:
    return {
        "labels": dict(alert["labels"]),
        "annotations": dict(alert.get("annotations", {})),
        "state": "firing" if is_firing else "resolved",
    }


class World:
    """The tool service, the alerts and the reaper of a run.

    `scratch` goes with it, even if we are killed, unless it is to be kept.
    """

    def __init__(
        self, scratch: Path, *, idempotent: bool, alertmanager: str = "", keep: bool = False
    ) -> None:
        with ExitStack() as stack:
            self.reaper = stack.enter_context(Reaper(None if keep else scratch))
            self.alerts = Alerts(alertmanager)
            stack.callback(self.alerts.close)
            port = free_port()
            words = ["--port", str(port), "--db", str(scratch / "tools.sqlite")]
            self._group = self.reaper.group()
            service = self._group.start(
                command("tools", *words, *(["--dedup"] if idempotent else [])),
                log=scratch / "tools.log",
            )
            wait_until_answers(port, service)
            self.tools_url = f"http://127.0.0.1:{port}"
            self.tools = ToolClient(self.tools_url)
            self._closing = stack.pop_all()

    def close(self) -> None:
        """End every process of the run."""
        self._closing.close()

    def watch(self, log: str, generation: str, ports: Sequence[int], folder: Path) -> Group:
        """Start a watchdog beside a node; it raises alerts for the node's log until it is killed.

        `log` is a path or a DSN, `ports` are the server's and the actor's.
        """
        server, actor = ports
        words = ["--log", log, "--generation", generation, "--alertmanager", self.alerts.url]
        words += ["--server-port", str(server), "--actor-port", str(actor)]
        words += ["--stall", str(_STALL_SECONDS)]
        group = self.reaper.group()
        group.start(command("watchdog", *words), log=folder / "watchdog.log")
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
