"""What a log holds as axnb reads it, and what each AX version makes of every conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from axnb.ax import versions
from axnb.ax.behaviour import UNKNOWN, Harness, History, Next, Target, predict
from axnb.ax.versions import G5_OR_G5B, GENERATIONS, Generation
from axnb.case.case import Case, ask
from axnb.drills.migration.options import can_register
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.text import is_text
from axnb.triaging import histories

#: What a server does with a request that it cannot serve.
REFUSALS = (
    "wrong-column",
    "unreadable",
    "harness-changed",
    "harness-missing",
    "lost-pending",
)

#: G3's own agent, which asks the model; no harness is called so.
_PLANNER = "__planner"

#: Generations that store a default harness as nothing.
_NAMELESS = {"G3", "G4", "G5", G5_OR_G5B}

#: Outcomes, the best first.
OUTCOMES = ("works", "loses", "fails", "unknown")


@dataclass(frozen=True)
class Outcome:
    """What becomes of a conversation under one AX version."""

    #: A word of OUTCOMES.
    word: str
    #: How it fails; what is lost.
    how: str = ""
    #: What an empty request and a new input do, where that is other than under its own version.
    differs: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The outcome as JSON."""
        found = {"outcome": self.word, "how": self.how, "differs": self.differs}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class Conversation:
    """A conversation as a log has it."""

    conversation_id: str
    #: Who wrote its rows, oldest first.
    generations: tuple[str, ...]
    #: `finished`, `interrupted` or `unreadable`.
    state: str
    #: The owner that its rows name in whatever words; empty without one.
    owner: str
    last_step: int | None
    rows: int
    #: Who ran it, as G3's execution_log says, where no row names an owner; empty without one.
    agent: str = ""
    #: What a server of each generation decodes.
    histories: Mapping[str, History] = field(repr=False, default_factory=dict)

    @property
    def is_readable(self) -> bool:
        """Can AX of its rows' own generations decode it?"""
        return self.state != "unreadable"

    @property
    def can_be_asked(self) -> bool:
        """Can a request name it?"""
        return bool(self.conversation_id) and is_text(self.conversation_id)

    @property
    def newest(self) -> str:
        """The newest generation of its rows that is sure."""
        name = max(self.generations, key=versions.order, default="G8")
        return "G5b" if name == G5_OR_G5B else name

    def owner_in_copy(self, default: str) -> str:
        """Who is to own it in a copy: whom its rows name; else who ran it; else the default."""
        # From G5b on every input names its harness: who has none was nobody's before, too.
        return self.owner or self.agent or (default if _NAMELESS & {*self.generations} else "")

    def next(self, generation: Generation, harnesses: Sequence[Harness]) -> Next:
        """What a server of `generation` does next with it."""
        target = Target(generation, tuple(harnesses), declared=True)
        return predict(target, self.histories[generation.name])

    def outcome(self, generation: Generation, harnesses: Sequence[Harness]) -> Outcome:
        """What becomes of it under an AX version, from what its rows say."""
        history, answer = self.histories[generation.name], self.next(generation, harnesses)
        if UNKNOWN in (answer.empty, answer.input):
            return Outcome("unknown", "a row is too large to be judged")
        if answer.input in REFUSALS:
            return Outcome("fails", answer.input)
        lost = []
        if answer.history in ("lost", "part"):
            missing = history.contents_stored - history.contents_decoded
            lost.append(f"{missing} of {history.contents_stored} contents")
        if self.owner and generation.owner_key and history.owner != self.owner:
            lost.append("its owner" if not history.owner else f"its owner: {history.owner} instead")
        elif self.agent and generation.owner_key and self.agent != harnesses[0].id:
            lost.append("its owner")
        differs = self._differs(answer, harnesses)
        return Outcome("loses" if lost else "works", ", ".join(lost), differs)

    def _differs(self, answer: Next, harnesses: Sequence[Harness]) -> str:
        """What a server does that one of the rows' own generation does not."""
        own = GENERATIONS[self.newest]
        if self.histories[own.name].column != own.step_column:
            return ""
        usual = self.next(own, harnesses)
        if (usual.empty, usual.input) == (answer.empty, answer.input):
            return ""
        return f"{answer.empty}, {answer.input}; {usual.empty}, {usual.input} under {own.name}"


@dataclass(frozen=True)
class ReadLog:
    """A log that was loaded into a case."""

    #: Its name there.
    source: str
    facts: Mapping[str, Any]
    conversations: tuple[Conversation, ...]

    @property
    def column(self) -> str:
        """How its table numbers rows."""
        return str(self.facts["column"])

    @property
    def generations(self) -> tuple[str, ...]:
        """Who wrote its rows, oldest first."""
        names = {name for c in self.conversations for name in c.generations}
        if names & {"G5", "G5b"}:
            names.discard(G5_OR_G5B)
        return tuple(sorted(names, key=versions.order))

    @property
    def newest(self) -> str:
        """The newest of them; that of the column where the log is empty."""
        usual = "G8" if self.column == "step" else "G5b"
        return max(self.generations, key=versions.order, default=usual)

    @property
    def owners(self) -> tuple[str, ...]:
        """Owners that its rows name, each once."""
        return tuple(sorted({c.owner for c in self.conversations if c.owner}))

    def find(self) -> dict[str, Conversation]:
        """Its conversations by their ids."""
        return {c.conversation_id: c for c in self.conversations}


def read_log(case: Case, log: str, generation: Generation | None = None) -> ReadLog:
    """Load a log into a case, beside others. Raises SourceError.

    Its conversations are seen as servers of all generations decode them; or as those of one, and
    of who wrote them.
    """
    source = load_log(case, locate(log, {}).log)
    with case.reading() as session:
        (facts,) = [found for found in ask(session, "sources") if found["name"] == source]
        found = [c for c in ask(session, "conversations", {"ids": None}) if c["source"] == source]
        names = {"G5b" if name == G5_OR_G5B else name for c in found for name in c["generations"]}
        names |= GENERATIONS.keys() if generation is None else {generation.name}
        # One without a row of its own generation is taken for the newest.
        names.add("G8")
        agents = {
            row["conversation_id"]: row["agent_id"]
            for row in ask(session, "execution_agents", {"source": source})
            if row["agent_id"] != _PLANNER
        }
        seen = {name: histories(session, GENERATIONS[name]) for name in sorted(names)}
    conversations = tuple(
        Conversation(
            conversation_id=c["conversation_id"],
            generations=tuple(sorted(c["generations"], key=versions.order)),
            state=c["state"],
            owner=c["harness_id"] or "",
            last_step=c["last_step"],
            rows=c["rows_read"],
            agent="" if c["harness_id"] else agents.get(c["conversation_id"], ""),
            histories={name: of[source, c["conversation_id"]] for name, of in seen.items()},
        )
        for c in found
    )
    return ReadLog(source, facts, conversations)


def registered(
    declared: Sequence[Harness], default: str, owners: Iterable[str]
) -> tuple[Harness, ...]:
    """The harnesses of the drill's servers, the default first.

    Without declared ones: the default and those that own something. One that nobody declared takes
    an empty start, unless it is built in: that does the most harm.
    """
    found = [*declared] or [
        Harness.named(name) for name in dict.fromkeys((default, *owners)) if can_register(name)
    ]
    return tuple(Harness(h.id, h.accepts is not False) for h in found)


def choose(
    conversations: Sequence[Conversation], most: int, kind: Mapping[str, str]
) -> tuple[list[Conversation], int]:
    """Up to `most` conversations that can be asked, of every kind some; and how many are left out.

    `kind` tells conversations apart, beside their state, owner and generations.
    """
    groups: dict[tuple[Any, ...], list[Conversation]] = {}
    for c in conversations:
        if c.can_be_asked:
            key = (c.state, c.owner, c.generations, kind.get(c.conversation_id, ""))
            groups.setdefault(key, []).append(c)
    chosen: list[Conversation] = []
    queues = [list(group) for _, group in sorted(groups.items())]
    while queues and len(chosen) < most:
        for queue in queues:
            if len(chosen) < most:
                chosen.append(queue.pop(0))
        queues = [queue for queue in queues if queue]
    chosen.sort(key=lambda c: c.conversation_id)
    return chosen, len(conversations) - len(chosen)
