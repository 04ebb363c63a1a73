"""The runtime `embedded`: an AX server of our own, an actor, and the world around them.

Every rehearsal has a node of its own, one process group of server and actor, so that a crash takes
both. Processes are held at named places of their code and killed from outside.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from axnb.ax.versions import GENERATIONS, Generation
from axnb.errors import AxnbError
from axnb.runtimes import (
    CANCELLED,
    Answer,
    Interruption,
    NotRunError,
    Observation,
    Policy,
    Program,
    Rehearsal,
    Reversal,
    Snapshot,
    Task,
)
from axnb.runtimes.asking import Asked, Asking
from axnb.runtimes.embedded.carrying import carry
from axnb.runtimes.embedded.node import Node, NodeSetup
from axnb.runtimes.holding import Holds
from axnb.runtimes.rehearsing import World, reverse
from axnb.runtimes.snapshots import newest

if TYPE_CHECKING:
    from axnb.runtimes.postgres import ScratchPostgres

#: From which generation a rehearsed upgrade comes, and to which it goes: G8 is the last with a log.
UPGRADES: Mapping[str, tuple[str, str]] = {
    "G5": ("G5", "G6"),
    "G6": ("G6", "G8"),
    "G8": ("G6", "G8"),
}

Place = tuple[str, Mapping[str, Any]]

_RESULT = {"kind": "tool_result"}
_APPEND: tuple[Place, ...] = tuple(
    (f"server.append.{name}", _RESULT) for name in ("begun", "numbered", "inserted", "committed")
)

#: Where a task is interrupted, by point: the usual place first, then those that chance may draw,
#: in the order in which the code comes to them.
PLACES: Mapping[int, tuple[Place, ...]] = {
    1: (("actor.before-call", {}), ("actor.started", {})),
    2: (("actor.emitted", {}),),
    3: (("actor.committed", {}), ("server.received", _RESULT), *_APPEND[:2]),
    4: (_APPEND[2], *_APPEND[:2]),
    5: (("actor.emitted", {}),),
    6: (("actor.committed", {}),),
    7: (("actor.committed", {}),),
    8: (("actor.committed", {}),),
    CANCELLED: (("actor.committed", {}),),
}

#: Points at which a killed process may get some way beyond its place first, in seconds at most.
#: No one gets beyond the last place of `_APPEND`, after which the log would be complete.
_BEYOND = {3: 0.003, 4: 0.006}


class EmbeddedRuntime:
    """Rehearsals with processes of our own. `snapshots` is an URL, "" for a folder, None for none."""

    def __init__(
        self,
        scratch: Path,
        *,
        generation: Generation = GENERATIONS["G8"],
        store: Literal["sqlite", "postgres"] = "sqlite",
        idempotent: bool = False,
        snapshots: str | None = "",
        alertmanager: str = "",
    ) -> None:
        self._generation = generation
        self._snapshots = snapshots
        self._stack = ExitStack()
        with ExitStack() as stack:
            world = World(scratch, idempotent=idempotent, alertmanager=alertmanager)
            self._world = stack.enter_context(world)
            self._postgres: ScratchPostgres | None = None
            if store == "postgres":
                from axnb.runtimes.postgres import ScratchPostgres

                self._postgres = stack.enter_context(ScratchPostgres())
            self._stack = stack.pop_all()

    @property
    def program(self) -> Program:
        """Our own program: the digest is that of its source files."""
        return Program("embedded", self._generation.name, _sources_digest(), "axnb.runtimes.embedded")

    def open(
        self, point: int, task: Task, policy: Policy, scratch: Path, chance: Random | None = None
    ) -> Rehearsal:
        """A rehearsal; point 7 is none without a bucket."""
        bucket = self._bucket(scratch)
        if point == 7 and bucket is None:
            raise NotRunError("there is no bucket for snapshots.")
        generation = GENERATIONS[UPGRADES[self._generation.name][0]] if point == 8 else self._generation
        log = str(scratch / "log.sqlite")
        if self._postgres is not None:
            log = self._postgres.create_database()
        setup = NodeSetup(self._world, scratch, log, bucket, policy, task)
        return EmbeddedRehearsal(setup, point, generation, self._upgrade(point), chance)

    def close(self) -> None:
        """End every process of every rehearsal."""
        self._stack.close()

    def _bucket(self, scratch: Path) -> str | None:
        if self._snapshots == "":
            (scratch / "bucket").mkdir()
            return (scratch / "bucket").as_uri()
        if self._snapshots is None:
            return None
        # Rehearsals do not see each other's snapshots.
        return f"{self._snapshots.rstrip('/')}/{scratch.name}"

    def _upgrade(self, point: int) -> Generation | None:
        return GENERATIONS[UPGRADES[self._generation.name][1]] if point == 8 else None


def _sources_digest() -> str:
    """One digest over the files of `axnb/runtimes`, by their names."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class EmbeddedRehearsal:
    """One task at one point."""

    def __init__(
        self,
        setup: NodeSetup,
        point: int,
        generation: Generation,
        upgraded: Generation | None,
        chance: Random | None,
    ) -> None:
        self._setup = setup
        self._task = setup.task
        self._point = point
        self._first = generation
        self._upgraded = upgraded
        self._chance = chance
        self._answers: list[Answer] = []
        self._taken: Snapshot | None = None
        self._restored: Snapshot | None = None
        self._holds = Holds()
        self._node = Node(setup, self._holds, generation)

    def prepare(self) -> Answer:
        """Start everything, and run the ordinary turn."""
        self._node.start()
        self._setup.world.watch(self._setup, self._node)
        return self._keep(self._node.ask(self._task.first_text))

    def interrupt(self) -> Interruption:
        """Send the task, and interrupt it."""
        place = self._draw()
        self._holds.arm_any([place])
        asked = self._node.begin(self._task.text)
        held = self._holds.wait()
        if self._point != 1:
            asked.wait_for("tool_call")
        do = {
            5: self._leave,
            6: self._kill_server,
            7: self._evict,
            CANCELLED: self._leave,
        }.get(self._point, self._crash)
        victims, sentence = do(place, held, asked)
        answer = self._keep(asked.answer())
        self._setup.world.alerts.wait_firing(self._task.conversation_id)
        requests = self._setup.world.tools.lookup(self._task.operation_id).requests
        return Interruption(
            sentence=sentence,
            answer=answer,
            victims=victims,
            failpoint=place[0],
            log=self._setup.log,
            generation=self._node.generation.name,
            requests=len(requests),
        )
