"""What an AX server does next with a conversation, by generation and set of harnesses.

The rules were read from real servers: `tests/data` holds thousands of their answers. They need
only what the server itself would decode from the conversation's rows (`History`); nothing here
depends on an id's text, on how a conversation came about, or on what a harness is called beyond
the two that AX ships.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from axnb.ax.versions import BUILT_IN_HARNESSES, Generation
from axnb.errors import UsageError
from axnb.text import is_text

#: What a server does with a request; the words of `next` in `axnb.triage/1`.
DOES = (
    "nothing",
    "new-turn",
    "resumes",
    "resumes-then-new-turn",
    "blocked",
    "ignores-pending",
    "re-runs",
    "asks-again",
    "closes-unrun",
    "lost-pending",
    "appends-then-fails",
    "harness-changed",
    "harness-missing",
    "unreadable",
    "wrong-column",
)

#: Stands in `next` where the answer hangs on whether a custom harness takes an empty start.
DEPENDS = "depends"

#: Stands in `next` where a row is too large for axnb to judge whether AX can decode it.
UNKNOWN = "unknown"

Execution = Literal["none", "lost", "waiting", "closed", "open"]
HistoryRead = Literal["read", "part", "lost"]


@dataclass(frozen=True)
class Harness:
    """A registered harness: does it take a start without messages? None is not known."""

    id: str
    accepts: bool | None

    def __post_init__(self) -> None:
        if not is_text(self.id):
            raise UsageError(f"harness {self.id[:80]!r} is no text in UTF-8.")

    @classmethod
    def named(cls, name: str) -> Harness:
        """A harness of which only the name is known; the built-in ones refuse."""
        return cls(name, False if name in BUILT_IN_HARNESSES else None)

    @classmethod
    def parse(cls, text: str) -> Harness:
        """Read `ID`, `ID=accepts` or `ID=refuses`; the built-in ones refuse unless said otherwise.

        Raises UsageError for another suffix or an empty id.
        """
        if "=" not in text and text:
            return cls.named(text)
        name, _, how = text.rpartition("=")
        if not name or how not in ("accepts", "refuses"):
            raise UsageError(f"harness {text[:80]!r} is not ID, ID=accepts or ID=refuses.")
        return cls(name, how == "accepts")

    def __str__(self) -> str:
        return (
            self.id
            if self.accepts is None
            else f"{self.id}={'accepts' if self.accepts else 'refuses'}"
        )


@dataclass(frozen=True)
class Target:
    """The server that is asked: its generation and its harnesses, the default first."""

    generation: Generation
    harnesses: tuple[Harness, ...]
    #: Were the harnesses declared? If they were only seen in a log, one that is not among them
    #: may still be registered, and which one is the default is open.
    declared: bool

    def default(self) -> Harness:
        """The harness of a request that names none; its id is empty where that is open."""
        if self.harnesses and (self.declared or len(self.harnesses) == 1):
            return self.harnesses[0]
        refuse = bool(self.harnesses) and all(h.accepts is False for h in self.harnesses)
        return Harness("", False if refuse else None)

    def find(self, name: str) -> Harness | None:
        """The registered harness of that name; None if the server is known not to have it."""
        for harness in self.harnesses:
            if harness.id == name:
                return harness
        return None if self.declared else Harness.named(name)


@dataclass(frozen=True)
class History:
    """What a server of the target generation decodes from the rows of one conversation."""

    #: The name of the log's step column.
    column: str
    #: Do all rows decode? None where axnb did not look into one (too large).
    readable: bool | None
    #: Is the last state that a row names PENDING?
    pending: bool
    #: The first owner that a row names; empty if none.
    owner: str = ""
    #: G3: what its `execution_log` says of the pending execution.
    execution: Execution = "none"
    #: Steps or messages that it decodes, and that the rows hold.
    contents_decoded: int = 0
    contents_stored: int = 0


@dataclass(frozen=True)
class Next:
    """What the server does with an empty request and with a new input."""

    empty: str
    input: str
    #: The harness that it would ask; None if it asks none or which one is open.
    harness: str | None = None
    #: Does it read the content of the history? None where it reads nothing at all.
    history: HistoryRead | None = None
    if_accepted: dict[str, str] | None = None
    if_refused: dict[str, str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The `next` object of `axnb.triage/1`."""
        found: dict[str, Any] = {
            "empty": self.empty,
            "input": self.input,
            "harness": self.harness,
            "history": self.history,
        }
        if self.if_accepted is not None:
            found["if_accepted"] = self.if_accepted
            found["if_refused"] = self.if_refused
        return found


def predict(target: Target, history: History, naming: str = "") -> Next:
    """Say what `target` does next. `naming` is the harness that the request names, if any."""
    generation = target.generation
    if history.column != generation.step_column:
        return Next("wrong-column", "wrong-column")
    if history.readable is None:
        return Next(UNKNOWN, UNKNOWN)
    if not history.readable:
        return Next("unreadable", "unreadable")
    if generation.name == "G3":
        return _g3(target, history)
    if _owner_refused(generation, history.owner, naming):
        return Next("harness-changed", "harness-changed")
    wanted = naming or history.owner
    harness = target.find(wanted) if wanted else target.default()
    if harness is None:
        return Next("harness-missing", "harness-missing")
    if generation.name == "G4":
        return _g4(history, harness)
    return _g5_and_later(history, harness)


def _owner_refused(generation: Generation, owner: str, naming: str) -> bool:
    """May the request not have this conversation, since another harness owns it?

    Before a default harness was stored by name, a request without a name was one for the owner
    without a name, and refused for any other.
    """
    if generation.names_default:
        return bool(naming and owner) and naming != owner
    return naming != owner


def _g3(target: Target, history: History) -> Next:
    """G3 runs its agent on the whole history at every start, on finished conversations too."""
    answers: dict[Execution, tuple[str, str]] = {
        "none": ("re-runs", "re-runs" if history.pending else "new-turn"),
        "lost": ("lost-pending", "lost-pending"),
        "waiting": ("asks-again", "asks-again"),
        "closed": ("closes-unrun", "closes-unrun"),
        "open": ("re-runs", "re-runs"),
    }
    empty, with_input = answers[history.execution]
    asked = target.default().id if "re-runs" in (empty, with_input) else ""
    return Next(empty, with_input, asked or None, _content(history))


def _g4(history: History, harness: Harness) -> Next:
    """G4 never looks for an unfinished turn; an empty request leaves its input row behind."""
    does = "ignores-pending" if history.pending else "new-turn"
    return Next("appends-then-fails", does, harness.id or None, _content(history))


def _g5_and_later(history: History, harness: Harness) -> Next:
    """G5 and later restart a pending conversation with an empty start before anything else."""
    asked, content = harness.id or None, _content(history)
    if not history.pending:
        return Next("nothing", "new-turn", asked, content)
    accepted = {"empty": "resumes", "input": "resumes-then-new-turn"}
    blocked = {"empty": "blocked", "input": "blocked"}
    if harness.accepts is None:
        return Next(DEPENDS, DEPENDS, asked, content, if_accepted=accepted, if_refused=blocked)
    does = accepted if harness.accepts else blocked
    return Next(does["empty"], does["input"], asked, content)


def _content(history: History) -> HistoryRead:
    if history.contents_decoded >= history.contents_stored:
        return "read"
    return "part" if history.contents_decoded else "lost"
