"""A server on a scratch copy of somebody's log, with a harness for every owner, to be asked.

The harness is the drill's own actor: it answers a text with a text and calls no tool. The tool
service that stands beside it counts what it is asked, so a copy that begins to do things is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axnb.ax.versions import BUILT_IN_HARNESSES, Generation
from axnb.runtimes import Answer, Task
from axnb.runtimes.ax.binary import Binary
from axnb.runtimes.ax.node import AxNode
from axnb.runtimes.embedded.node import HARNESS, Node, NodeSetup
from axnb.runtimes.holding import Holds
from axnb.runtimes.rehearsing import World

#: Nothing is sent of it: a node has one, and what is asked here names its own conversation.
_TASK = Task("axnb-drill", "axnb-drill")


@dataclass(frozen=True)
class Registered:
    """A harness that the server has: does it refuse a start without messages?"""

    id: str
    refuses: bool


class _LogNode(Node):
    """An embedded node whose server registers several harnesses, the first as the default."""

    def __init__(
        self,
        setup: NodeSetup,
        holds: Holds,
        generation: Generation,
        harnesses: Sequence[Registered],
    ) -> None:
        super().__init__(setup, holds, generation)
        self._harnesses = harnesses

    def _configuration(self) -> dict[str, Any]:
        told = super()._configuration()
        endpoint = f"127.0.0.1:{self.actor_port}"
        built_in, custom = {}, []
        for number, harness in enumerate(self._harnesses):
            entry: dict[str, Any] = {"endpoint": endpoint, "default": number == 0}
            if harness.id in BUILT_IN_HARNESSES and harness.refuses:
                built_in[harness.id] = entry
            else:
                custom.append({"id": harness.id, "refuses": harness.refuses, **entry})
        told.pop(HARNESS)
        # Of the two layouts a server reads its own.
        told |= {**built_in, "harnesses": built_in}
        told["axnb"]["harnesses"] = custom
        return told


class ServedLog:
    """A server on a log, from `start` to `stop` or `close`; each may be done again.

    `log` is a path or a DSN of a scratch copy: requests write to it. With a `binary` it is a real
    server, which has the built-in harness alone.
    """

    def __init__(
        self,
        world: World,
        folder: Path,
        log: str,
        generation: Generation,
        harnesses: Sequence[Registered],
        binary: Binary | None = None,
    ) -> None:
        """Raises OSError if `folder` cannot be made."""
        folder.mkdir(parents=True, exist_ok=True)
        setup = NodeSetup(world, folder, log, None, "ax", _TASK)
        self._holds = world.holds()
        self._node: Node
        if binary is not None:
            self._node = AxNode(setup, self._holds, binary)
        else:
            self._node = _LogNode(setup, self._holds, generation, harnesses)

    def __enter__(self) -> ServedLog:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the harness and the server. Raises AxnbError if one does not answer."""
        self._node.start()

    def stop(self) -> None:
        """Stop in order, as an operator does."""
        self._node.stop()

    def close(self) -> None:
        """End what runs; twice is fine."""
        self._node.crash()
        self._holds.close()

    def ask(self, conversation_id: str, text: str = "", *, harness: str = "") -> Answer:
        """Send one request; without text it is an empty one."""
        return self._node.client.send(conversation_id, text, harness=harness)
