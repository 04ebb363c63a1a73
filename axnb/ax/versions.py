"""The generations of AX's event log: releases, tables, columns, and where each keeps what.

Sources: facts of google/ax's public history; real logs of each generation in `tests/data`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from axnb.errors import UsageError

#: Ids of the harnesses that AX ships. Both refuse a start without messages.
BUILT_IN_HARNESSES = ("antigravity", "antigravity-interactions")

#: A log in which only custom harnesses are named cannot tell G5 from G5b.
G5_OR_G5B = "G5|G5b"


@dataclass(frozen=True)
class Generation:
    """One generation of the event log, as its servers write and read it."""

    name: str
    #: Names under which this generation was released; empty if it was on main only.
    releases: tuple[str, ...]
    #: The column (and, up to G6, the payload key) that numbers the rows of a conversation.
    step_column: Literal["seq", "step"]
    #: The protobuf message that a payload holds.
    event: Literal["ConversationEvent", "StepEvent"]
    #: Where the input row keeps the conversation's owner; None where it keeps none.
    owner_key: Literal["harness_id", "agent_id"] | None
    #: Where the input row keeps the configuration of the turn.
    config_key: Literal["harness_config", "agent_config"] | None
    #: Where the content is.
    content_key: Literal["messages", "steps"]
    #: Does the owner of a turn under the default harness have a name in the log?
    names_default: bool
    #: Does a release of this generation read the log from PostgreSQL?
    postgres: bool
    #: The schema file of its messages, without suffix.
    schema: str

    @property
    def label(self) -> str:
        """The generation and its newest release, as people say it: `v0.2.3 (G8)`."""
        return f"{self.releases[-1]} ({self.name})" if self.releases else self.name


_ALL = (
    Generation(
        "G3", ("v0.1.0",), "seq", "ConversationEvent", None, None, "messages", False, False, "g3"
    ),
    Generation(
        "G4",
        (),
        "seq",
        "ConversationEvent",
        "harness_id",
        "harness_config",
        "messages",
        False,
        True,
        "g4",
    ),
    Generation(
        "G5",
        (),
        "seq",
        "ConversationEvent",
        "harness_id",
        "harness_config",
        "messages",
        False,
        True,
        "g5",
    ),
    Generation(
        "G5b",
        ("v0.2.0", "v0.2.1"),
        "seq",
        "ConversationEvent",
        "harness_id",
        "harness_config",
        "messages",
        True,
        True,
        "g5",
    ),
    Generation(
        "G6",
        ("v0.2.2",),
        "step",
        "ConversationEvent",
        "harness_id",
        "harness_config",
        "messages",
        True,
        True,
        "g6",
    ),
    Generation(
        "G7", (), "step", "StepEvent", "harness_id", "harness_config", "steps", True, True, "g7"
    ),
    Generation(
        "G8",
        ("v0.2.3",),
        "step",
        "StepEvent",
        "agent_id",
        "agent_config",
        "steps",
        True,
        True,
        "g8",
    ),
)

#: The generations that axnb reads and writes, oldest first.
GENERATIONS: dict[str, Generation] = {g.name: g for g in _ALL}

#: Generations that axnb knows by their tables and refuses: they were never released.
REFUSED_GENERATIONS = ("G0a", "G0b", "G1", "G2a")

_ORDER = {name: n for n, name in enumerate(("G3", "G4", "G5", G5_OR_G5B, "G5b", "G6", "G7", "G8"))}


def order(name: str) -> int:
    """Sort key of a generation's name, oldest first; `G5|G5b` lies between its two."""
    return _ORDER[name]


def resolve(version: str) -> Generation:
    """Find a generation by its name (`G8`) or by a release (`v0.2.3`, `0.2.3`).

    Raises UsageError for anything else.
    """
    wanted = version.strip()
    for generation in GENERATIONS.values():
        names = {generation.name.lower(), *generation.releases}
        if wanted.lower() in names or f"v{wanted}" in generation.releases:
            return generation
    known = ", ".join((*GENERATIONS, *(r for g in GENERATIONS.values() for r in g.releases)))
    raise UsageError(f"AX version {version[:80]!r} is not known; use one of {known}.")
