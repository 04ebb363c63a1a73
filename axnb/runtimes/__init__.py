"""What a drill interrupts: a small protocol, and what its implementations have in common.

A `Runtime` is a way to run agents; it opens a `Rehearsal` for one task at one point. The drill
calls its methods in this order:

    prepare    an ordinary turn, so that there is a history, and a snapshot where there is a bucket
    interrupt  send the task, and interrupt it at the point
    resume     bring back what was stopped, and ask as a user does: an empty request (what
               `ax --resume` sends), then a new input
    observe    where the log, the snapshots, the ledger and the alerts are, and what they show
    reverse    undo the effects of the task, and read the tool back
    close      end every process and leave nothing

A rehearsal never judges: what it returns was observed. A step that a runtime cannot do raises
`NotRunError` with a sentence.

    embedded   real processes on this machine, with an AX server of our own (the default)
    ax         a real `ax serve`, with a harness of ours
    command    an operator's own deployment, by commands or by a person's hands
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, Protocol

from axnb.errors import AxnbError

#: The points at which a task is interrupted.
POINTS: Mapping[int, str] = {
    1: "before the tool call is emitted",
    2: "after the call is emitted, before its result reaches the runtime",
    3: "after the tool commits, before the log records completion",
    4: "during the log append, inside the transaction",
    5: "the client disconnects while the actor goes on",
    6: "the server restarts while the actor is active",
    7: "the actor is evicted, then restored from its snapshot",
    8: "the runtime is upgraded with an incomplete conversation, then rolled back",
}

#: No point of the matrix: the client cancels after the tool has committed.
CANCELLED = 0

Policy = Literal["ax", "requeue", "read-before-retry"]

#: How a runtime goes on with a turn that has no end.
POLICIES: Mapping[Policy, str] = {
    "ax": "as released AX does: an empty start, which the built-in harness refuses",
    "requeue": "the last input is put to the harness again",
    "read-before-retry": "the same, the tool system is asked before a call is made again, and an"
    " upgrade takes the log over",
}

Kind = Literal["embedded", "ax", "command"]

#: How an operation may be repeated, as `[tools.NAME]` says; a `write` is not idempotent.
Retry = Literal["read", "idempotent", "write", "barrier"]


class NotRunError(AxnbError):
    """A point cannot be rehearsed with this runtime; the sentence says why. The rest goes on."""

    exit_code = 3


@dataclass(frozen=True)
class Task:
    """What the drill asks an agent to do: one call with one effect that can be reversed."""

    conversation_id: str
    operation_id: str
    tool: str = "reserve"
    #: What the tool reserves; with the conversation it is the business key of the effect.
    item: str = "seat 12A"
    retry: Retry = "write"

    @property
    def text(self) -> str:
        """The user's input. The operation id is in it, so it stays the same across retries."""
        return f"Reserve {self.item} as {self.operation_id}"

    @property
    def first_text(self) -> str:
        """The input of the ordinary turn before the task."""
        return f"Remember that my seat is {self.item}"

    @property
    def next_text(self) -> str:
        """The input of the turn after the resume."""
        return "Which reservation do I have?"


@dataclass(frozen=True)
class Output:
    """One output as a client got it. `number` is the step; 0 where AX could not log it."""

    number: int
    #: text, thought, tool_call, tool_result, confirmation, …
    kind: str
    #: The text, or the arguments or the result as JSON text.
    value: str = ""


@dataclass(frozen=True)
class Answer:
    """What a client got for one request. `error` is None where the stream ended well."""

    #: What was sent: the text, or empty for an empty request.
    sent: str
    outputs: tuple[Output, ...] = ()
    #: A gRPC status and its text, as `UNAVAILABLE: Socket closed`.
    error: str | None = None
    #: The client went away by itself.
    cancelled: bool = False
    #: The last step that the client said it had; None where the generation has no such field, or
    #: the client named none.
    cursor: int | None = None


@dataclass(frozen=True)
class Interruption:
    """What was interrupted, and how."""

    #: `SIGKILL of server and actor, held at actor.committed`
    sentence: str
    #: What the client got until then.
    answer: Answer
    #: server, actor, client
    victims: tuple[str, ...]
    #: The named place in the code; empty where there is none.
    failpoint: str = ""
    #: The log as it is right after, as `axnb load` takes it, and the generation that wrote it.
    log: str = ""
    generation: str = ""
    #: Requests that the tool had got by then; None where nobody can tell.
    requests: int | None = None
    #: Requests to the tool that may have been cut on their way.
    cut_requests: int = 0
    #: The generation that reads this log next as it stands; empty where it is taken over first.
    read_next_by: str = ""


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of the actor as the runtime knows it."""

    #: The prefix of its keys.
    key: str
    #: sha256 of the object that holds the actor's files.
    digest: str
    #: What the actor's state in it says, `{"turns", "digest"}`; empty where nobody can read it.
    state: Mapping[str, Any]


@dataclass(frozen=True)
class Observation:
    """What is there after the resume. None means that this runtime cannot show it."""

    #: The log as `axnb load` takes it: a path or a DSN.
    log: str
    #: The generation that serves the log now.
    generation: str
    #: What the client got: of the first turn, the task, the resume and the next turn.
    answers: tuple[Answer, ...]
    #: Entries of the tool's ledger for the task's operation and business key:
    #: `{"entry", "operation_id", "conversation_id", "tool", "item", "status", "reservation"}`.
    effects: tuple[Mapping[str, Any], ...] | None
    #: Requests that the tool got for the operation, in order, whether or not they had an effect.
    requests: tuple[Mapping[str, Any], ...] | None
    #: Requests that the runtime says it made, from its own journal.
    reported: tuple[Mapping[str, Any], ...] | None
    #: Alerts that name the conversation, as Alertmanager's API v2 has them.
    alerts: tuple[Mapping[str, Any], ...] | None
    #: Where the snapshots are, as `axnb map --snapshots` takes it; None without a bucket.
    bucket: str | None = None
    #: The snapshot that was taken last before the interruption, or at it.
    taken: Snapshot | None = None
    #: The one from which the actor was restored; None where it was not.
    restored: Snapshot | None = None
    #: The newest that can be restored now; None where there is none, or nobody can read it.
    newest: Snapshot | None = None
    #: The same of the actor's state now; None where it cannot be asked.
    actor: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Reversal:
    """The effects of a task were undone, and the tool was read back."""

    #: Entries of the ledger afterwards.
    effects: tuple[Mapping[str, Any], ...]
    sentence: str


@dataclass(frozen=True)
class Program:
    """What was interrupted: an embedded program never counts as `ax`."""

    kind: Kind
    #: The generation of the log that it writes.
    generation: str
    #: sha256 of the program; of the embedded one, of its source files.
    sha256: str
    #: What it is called, without a folder.
    name: str


class Rehearsal(Protocol):
    """One task at one point, in a scratch folder of its own."""

    def prepare(self) -> Answer:
        """Run the ordinary first turn."""

    def interrupt(self) -> Interruption:
        """Send the task and interrupt it; returns once the interruption is over."""

    def resume(self) -> tuple[Answer, Answer]:
        """Bring back what was stopped; an empty request, then a new input."""

    def observe(self) -> Observation:
        """What is there now."""

    def reverse(self) -> Reversal:
        """Undo the effects of the task."""

    def close(self) -> None:
        """End every process. Nothing may be left; calling it twice is fine."""


class Runtime(Protocol):
    """A way to run agents."""

    @property
    def program(self) -> Program:
        """What is interrupted. Raises NotRunError where there is none."""

    def task_for(self, task: Task, point: int, policy: Policy) -> Task:
        """The task under the names that it has in this runtime."""

    def open(
        self, point: int, task: Task, policy: Policy, scratch: Path, chance: Random | None = None
    ) -> Rehearsal:
        """A rehearsal of one point, or of CANCELLED; raises NotRunError where there is none of it.

        By `chance` the place and the moment of the interruption are drawn among those that fit the
        point; without it they are the usual ones.
        """

    def stop(self) -> None:
        """Break off what runs now: rehearsals fail soon. What can be reversed, still can be."""

    def close(self) -> None:
        """End what all rehearsals share."""
