"""One task on a real server. Only the harness can be held, so the log is locked for point 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from axnb.ax.versions import Generation
from axnb.runtimes import CANCELLED, Interruption
from axnb.runtimes.asking import Asked
from axnb.runtimes.ax.binary import Binary
from axnb.runtimes.ax.blocking import blocking
from axnb.runtimes.ax.node import AxNode
from axnb.runtimes.embedded.node import Node, NodeSetup
from axnb.runtimes.embedded.runtime import EmbeddedRehearsal, Victims
from axnb.runtimes.holding import Held, Place

#: Where the harness is held, by point; at others there is nothing to hold.
PLACES: Mapping[int, str] = {
    1: "actor.before-call",
    2: "actor.emitted",
    3: "actor.committed",
    4: "actor.committed",
    5: "actor.emitted",
    6: "actor.committed",
    8: "actor.committed",
    CANCELLED: "actor.committed",
}


class AxRehearsal(EmbeddedRehearsal):
    """As on an embedded server, whose harness is the same."""

    def __init__(
        self,
        setup: NodeSetup,
        point: int,
        binaries: tuple[Binary, Binary],
        chance: Random | None,
    ) -> None:
        """`binaries` are the one of before and, at point 8, the one of the upgrade."""
        self._binaries = {binary.generation: binary for binary in reversed(binaries)}
        old, new = binaries
        super().__init__(setup, point, (old.generation, new.generation), chance)

    def interrupt(self) -> Interruption:
        """Send the task, and interrupt it."""
        found = super().interrupt()
        if self._point != 4:
            return found
        told = "SIGKILL of server and actor while a lock kept the append of the result open"
        return replace(found, sentence=f"{told}{self._torn()}", failpoint="")

    def _make_node(self) -> Node:
        return AxNode(self._setup, self._holds, self._binaries[self._old])

    def _places(self) -> Sequence[Place]:
        return [(PLACES[self._point], {})]

    def _crash(self, held: Held, places: Sequence[Place], asked: Asked) -> tuple[Victims, str]:
        if self._point == 4:
            # The actor does not wait for the log: it comes to the end of its turn, in every run.
            self._holds.arm("actor.ended")
            with blocking(self._setup.log) as wait:
                held.go()
                self._holds.wait()
                wait()
                self._node.crash()
        self._node.crash()
        return ("server", "actor"), "SIGKILL of server and actor"

    def _take_over(self, old: Generation, new: Generation) -> None:
        """Put the other binary in place; it takes nothing over."""
        assert isinstance(self._node, AxNode)
        self._node.use(self._binaries[new])
