"""What rehearsals with a harness of ours have in common: the outside world, and asking a client.

The tool service and the receiver of alerts stand outside of every node, so they are what can be
asked after a crash. One of each serves all rehearsals of a run.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from axnb.ax.versions import Generation
from axnb.errors import AxnbError
from axnb.runtimes import Answer, Output, Reversal, Task
from axnb.runtimes.alerts import AlertReceiver, Alerts
from axnb.runtimes.client import Client, Request
from axnb.runtimes.processes import Process, Reaper, free_port, wait_until_answers
from axnb.runtimes.programs import command
from axnb.runtimes.tools import ToolClient
from axnb.text import count

#: How long an alert may take to be raised or resolved. What has not come by then, has not come.
ALERT_SECONDS = 10.0


class World:
    """The tool service and the alerts of a run, and its reaper."""

    def __init__(self, scratch: Path, *, idempotent: bool, alertmanager: str = "") -> None:
        with ExitStack() as stack:
            self.reaper = stack.enter_context(Reaper())
            self._receiver = None
            if not alertmanager:
                self._receiver = stack.enter_context(AlertReceiver())
            self.alerts = Alerts(alertmanager or self._receiver.url)  # type: ignore[union-attr]
            port = free_port()
            words = ["--port", str(port), "--database", str(scratch / "tools.sqlite")]
            words += ["--dedup"] if idempotent else []
            group = self.reaper.group()
            service = group.start(command("tools", *words), log=scratch / "tools.log")
            wait_until_answers(port, service)
            self.tools = ToolClient(f"http://127.0.0.1:{port}")
            self._closing = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process of the run."""
        self._closing.close()
