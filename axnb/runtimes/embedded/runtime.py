"""The runtime `embedded`: an AX server of our own, an actor, and the world around them.

Every rehearsal has a node of its own, one process group of server and actor, so that a crash takes
both. Processes are held at named places of their code and killed from outside.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias

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
from axnb.runtimes.asking import Asked
from axnb.runtimes.embedded.carrying import carry
from axnb.runtimes.embedded.node import Node, NodeSetup
from axnb.runtimes.files import usable
from axnb.runtimes.holding import Held, Place
from axnb.runtimes.processes import Group
from axnb.runtimes.rehearsing import World
from axnb.runtimes.snapshots import newest, remove, run_folder

if TYPE_CHECKING:
    from axnb.runtimes.postgres import ScratchPostgres

_USING_FILES = usable("a file of the rehearsal")

Victims: TypeAlias = tuple[str, ...]

#: From which generation a rehearsed upgrade comes, and to which it goes: G8 is the last with a log.
UPGRADES: Mapping[str, tuple[str, str]] = {
    "G5": ("G5", "G6"),
    "G6": ("G6", "G8"),
    "G8": ("G6", "G8"),
}


_RESULT = {"kind": "tool_result"}

#: What the code comes to between the tool's commit and the moment at which the log knows of it.
_PATH: tuple[Place, ...] = (
    ("actor.committed", {}),
    ("server.received", _RESULT),
    *(
        (f"server.append.{name}", _RESULT)
        for name in ("begun", "numbered", "inserted", "committed")
    ),
)

#: Where a task is interrupted, by point; chance draws among several, and the last is the usual one.
PLACES: Mapping[int, tuple[Place, ...]] = {
    1: (("actor.started", {}), ("actor.before-call", {})),
    2: (("actor.emitted", {}),),
    3: (*_PATH[1:4], _PATH[0]),
    4: _PATH[2:5],
    5: (("actor.emitted", {}),),
}
_COMMITTED = (_PATH[0],)

#: How far a process may get beyond a place that chance has drawn before it is killed, in seconds.
_BEYOND = {3: 0.003, 4: 0.006}


def drawn_places(point: int, chance: Random | None) -> tuple[Place, ...]:
    """The place of the interruption, and then those that nobody passes after it."""
    choice = PLACES.get(point, _COMMITTED)
    place = choice[-1] if chance is None else chance.choice(choice)
    return place, *(_PATH[_PATH.index(place) + 1 :] if place in _PATH else ())


class EmbeddedRuntime:
    """Rehearsals with processes of our own.

    `snapshots` is an URL, empty for a folder in scratch, None for no bucket. Scratch goes with the
    last process unless it is to be kept.
    """

    def __init__(
        self,
        scratch: Path,
        *,
        generation: Generation = GENERATIONS["G8"],
        store: Literal["sqlite", "postgres"] = "sqlite",
        idempotent: bool = False,
        snapshots: str | None = "",
        alertmanager: str = "",
        keep: bool = False,
    ) -> None:
        self._generation = generation
        self._snapshots = snapshots
        self._run = run_folder()
        self._keep = keep
        self._stack = ExitStack()
        with ExitStack() as stack:
            self._world = World(
                scratch, idempotent=idempotent, alertmanager=alertmanager, keep=keep
            )
            stack.callback(self._world.close)
            self._postgres: ScratchPostgres | None = None
            if store == "postgres":
                from axnb.runtimes.postgres import ScratchPostgres

                self._postgres = stack.enter_context(ScratchPostgres())
            self._stack = stack.pop_all()

    @property
    def program(self) -> Program:
        """Our own program: the digest is that of its source files."""
        return Program(
            "embedded", self._generation.name, _sources_digest(), "axnb.runtimes.embedded"
        )

    def task_for(self, task: Task, point: int, policy: Policy) -> Task:
        """The task as it is: nobody else is here."""
        return task

    @_USING_FILES
    def open(
        self, point: int, task: Task, policy: Policy, scratch: Path, chance: Random | None = None
    ) -> Rehearsal:
        """A rehearsal; point 7 is none without a bucket."""
        bucket = self._bucket(scratch)
        if point == 7 and bucket is None:
            raise NotRunError("there is no bucket for snapshots.")
        log = str(scratch / "log.sqlite")
        if self._postgres is not None:
            log = self._postgres.create_database()
        removes = self._place is not None and not self._keep
        setup = NodeSetup(self._world, scratch, log, bucket, policy, task, removes_bucket=removes)
        generations = (self._generation, self._generation)
        if point == 8:
            old, new = UPGRADES[self._generation.name]
            generations = (GENERATIONS[old], GENERATIONS[new])
        return EmbeddedRehearsal(setup, point, generations, chance)

    def stop(self) -> None:
        """End every process: what they did is in scratch, and goes with it."""
        self.close()

    def close(self) -> None:
        """End every process of every rehearsal, and delete what they left in a bucket."""
        self._stack.close()
        if self._place is not None and not self._keep:
            # A rehearsal that was closed has said it, if that is not possible.
            with suppress(AxnbError):
                remove(self._place)

    @property
    def _place(self) -> str | None:
        """Where the snapshots of this run lie among those of others; None if nowhere."""
        return f"{self._snapshots.rstrip('/')}/{self._run}" if self._snapshots else None

    def _bucket(self, scratch: Path) -> str | None:
        if self._place is not None:
            return f"{self._place}/{scratch.name}"
        if self._snapshots is None:
            return None
        (scratch / "bucket").mkdir()
        return (scratch / "bucket").as_uri()


def _sources_digest() -> str:
    """One digest over the files of `axnb/runtimes`, by their names."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(
            path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    return digest.hexdigest()


class EmbeddedRehearsal:
    """One task at one point."""

    def __init__(
        self,
        setup: NodeSetup,
        point: int,
        generations: tuple[Generation, Generation],
        chance: Random | None,
    ) -> None:
        """`generations` are the one of before and, at point 8, the one of the upgrade."""
        self._setup = setup
        self._task = setup.task
        self._point = point
        self._old, self._new = generations
        self._chance = chance
        self._answers: list[Answer] = []
        self._taken: Snapshot | None = None
        self._restored: Snapshot | None = None
        self._holds = setup.world.holds()
        self._node = self._make_node()
        self._watchdog: Group | None = None

    def _make_node(self) -> Node:
        return Node(self._setup, self._holds, self._old)

    def _places(self) -> Sequence[Place]:
        """Where the task is to be held, and what may be drawn beyond it."""
        return drawn_places(self._point, self._chance)

    @_USING_FILES
    def prepare(self) -> Answer:
        """Start everything, and run the ordinary turn."""
        self._node.start()
        ports = (self._node.port, self._node.actor_port)
        world, setup = self._setup.world, self._setup
        self._watchdog = world.watch(setup.log, self._old.name, ports, setup.folder)
        return self._keep(self._node.ask(self._task.first_text))

    @_USING_FILES
    def interrupt(self) -> Interruption:
        """Send the task, and interrupt it."""
        places = self._places()
        self._setup.world.alerts.begin(self._task.conversation_id)
        held, asked = self._hold(places[0])
        # What the actor has emitted by now is to be logged: the log is the same in every run.
        if held.name != "actor.started":
            asked.wait_for("thought" if held.name == "actor.before-call" else "tool_call")
        do = {
            5: self._leave,
            6: self._kill_server,
            7: self._evict,
            CANCELLED: self._leave,
        }.get(self._point, self._crash)
        victims, sentence = do(held, places, asked)
        answer = self._keep(asked.answer())
        setup = self._setup
        setup.world.alerts.wait_firing(self._task.conversation_id, setup.alert_seconds)
        # The journal first: what is on its way to the tool at this moment is not cut.
        noted = self._node.noted(self._task.operation_id)
        requests = len(setup.world.requests(self._task))
        return Interruption(
            sentence=f"{sentence}, held at {held.name}{self._torn()}",
            answer=answer,
            victims=victims,
            failpoint=held.name,
            log=self._setup.log,
            generation=self._old.name,
            requests=requests,
            # A node makes one request at a time.
            cut_requests=min(1, max(0, noted - requests)),
            read_next_by="" if self._is_carried else self._new.name,
        )

    def _hold(self, place: Place) -> tuple[Held, Asked]:
        """Send the task, and hold who comes to the place."""
        armed = [place]
        if place[0].startswith("server."):
            # The actor does not wait for the log: it comes to the end of its turn, in every run.
            armed.append(("actor.ended", {}))
        self._holds.arm_any(armed)
        asked = self._node.begin(self._task.text)
        found = {held.name: held for held in [self._holds.wait() for _ in armed]}
        return found[place[0]], asked

    @_USING_FILES
    def resume(self) -> tuple[Answer, Answer]:
        """Start what was stopped; at point 8 upgrade before the resume, and roll back after it."""
        self._setup.world.alerts.note(self._task.conversation_id)
        self._holds.arm_any([])
        if self._point == 8:
            self._take_over(self._old, self._new)
        self._node.start(restore=self._point == 7)
        if self._point == 7:
            self._restored = self._node.restored()
        # A client that comes back says what it has, where the generation has a field for it.
        got = [output.number for answer in self._answers for output in answer.outputs]
        resumed = self._keep(self._node.ask(cursor=max(got, default=0)))
        if self._point == 8:
            self._node.stop()
            self._take_over(self._new, self._old)
            self._node.start()
        following = self._keep(self._node.ask(self._task.next_text))
        if following.error is None:
            # It is answered only once no turn is open any more.
            setup = self._setup
            setup.world.alerts.wait_resolved(self._task.conversation_id, setup.alert_seconds)
        return resumed, following

    @_USING_FILES
    def observe(self) -> Observation:
        """What is there now."""
        world, bucket = self._setup.world, self._setup.bucket
        conversation_id = self._task.conversation_id
        return Observation(
            log=self._setup.log,
            generation=self._node.generation.name,
            answers=tuple(self._answers),
            effects=world.effects(self._task),
            requests=world.requests(self._task),
            reported=tuple(
                line
                for line in self._node.reported()
                if line["operation_id"] == self._task.operation_id
            ),
            alerts=world.alerts.of(conversation_id),
            bucket=bucket,
            taken=self._taken,
            restored=self._restored,
            newest=None if bucket is None else newest(bucket, conversation_id),
            actor=None if bucket is None else self._node.actor_summary(),
        )

    def reverse(self) -> Reversal:
        """Release every effect of the task, and read the tool back."""
        return self._setup.world.reverse(self._task)

    def close(self) -> None:
        """End every process of this rehearsal."""
        self._holds.close()
        self._node.crash()
        if self._watchdog is not None:
            self._watchdog.kill()
        self._setup.world.alerts.resolve(self._task.conversation_id)
        if self._setup.bucket is not None and self._setup.removes_bucket:
            remove(self._setup.bucket)

    # --- the ways of interrupting: who was hit, and how ------------------------------------------

    def _crash(self, held: Held, places: Sequence[Place], asked: Asked) -> tuple[Victims, str]:
        """The machine goes down: both at once, wherever the actor and the server are."""
        beyond = _BEYOND.get(self._point)
        if self._chance is not None and beyond is not None:
            # It gets some way beyond its place, at most to the next.
            self._holds.arm_any(places[1:])
            held.go()
            time.sleep(self._chance.uniform(0, beyond))
        self._node.crash()
        return ("server", "actor"), "SIGKILL of server and actor"

    def _leave(self, held: Held, places: Sequence[Place], asked: Asked) -> tuple[Victims, str]:
        """The client goes away; the actor does not notice, and goes on to the end of its turn."""
        self._holds.arm("actor.ended")
        asked.leave()
        self._node.wait_for_end_of_stream()
        held.go()
        self._holds.wait().go()
        return ("client",), "the client left while the actor was"

    def _kill_server(
        self, held: Held, places: Sequence[Place], asked: Asked
    ) -> tuple[Victims, str]:
        """The server goes down; the actor goes on to the end of its turn, for nobody."""
        self._holds.arm("actor.ended")
        self._node.kill_server()
        held.go()
        self._holds.wait().go()
        return ("server",), "SIGKILL of the server while the actor was"

    def _evict(self, held: Held, places: Sequence[Place], asked: Asked) -> tuple[Victims, str]:
        """The actor is suspended in the middle of its turn, and its machine is gone."""
        self._taken = self._node.suspend()
        self._node.evict()
        return ("actor",), "the actor was suspended to a snapshot and killed (SIGKILL)"

    # --- upgrade and rollback ------------------------------------------------------------------

    def _torn(self) -> str:
        """An append that was cut leaves its journal beside the file, for whoever opens it next."""
        return "; the log's journal is hot" if Path(f"{self._setup.log}-journal").exists() else ""

    @property
    def _is_carried(self) -> bool:
        """Is the log taken over at an upgrade? AX itself takes nothing over."""
        return self._setup.policy == "read-before-retry"

    def _take_over(self, old: Generation, new: Generation) -> None:
        """Put another version in place."""
        if self._is_carried:
            carry(self._setup.log, old, new)
        self._node.generation = new

    def _keep(self, answer: Answer) -> Answer:
        self._answers.append(answer)
        return answer
