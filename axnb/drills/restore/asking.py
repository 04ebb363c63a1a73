"""A server on the restored log: is it usable? Conversations are asked to go on, and the log is read
again afterwards.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from axnb.case.case import Case, ask
from axnb.drills.restore.looking import Looked
from axnb.errors import AxnbError
from axnb.evidence.load import load_log
from axnb.evidence.locators import locate
from axnb.runtimes import Answer
from axnb.runtimes.ax.binary import Binary
from axnb.runtimes.embedded.server import SERVED
from axnb.runtimes.rehearsing import World
from axnb.runtimes.served import Registered, ServedLog
from axnb.settings import Settings
from axnb.triaging import ConversationTriage

#: What is sent, and the id of a conversation that no log has.
TEXT = "Is anybody there after the restore?"
NEW = "axnb-restore-drill"

SERVED_NAMES = frozenset(generation.name for generation in SERVED)

#: What a request does that begins a turn of its own.
_GOES_ON = ("new-turn", "resumes-then-new-turn", "ignores-pending")


@dataclass(frozen=True)
class Row:
    """A row of the log: its number, the digest of its text, and what it holds."""

    step: int | None
    digest: str | None
    state: str | None
    kind: str | None


@dataclass(frozen=True)
class Asked:
    """One conversation that was asked to go on."""

    conversation_id: str
    #: What a server of this version does with a new input, as the facts say.
    predicted: str
    answer: Answer
    before: tuple[Row, ...]
    after: tuple[Row, ...] = ()

    @property
    def new(self) -> tuple[Row, ...]:
        """Rows that came, wherever AX reads them: a number in text comes after all others."""
        known = Counter(self.before)
        found = []
        for row in self.after:
            if known[row]:
                known[row] -= 1
            else:
                found.append(row)
        return tuple(found)

    @property
    def goes_on(self) -> bool:
        """Was a turn to be run?"""
        return self.predicted in _GOES_ON

    @property
    def trouble(self) -> str:
        """What is not as it should be, in words; empty where all is."""
        if Counter(self.before) - Counter(self.after):
            return "rows that were there are others now"
        if not self.goes_on:
            if self.answer.error is None:
                return f"it was answered, where a server of this version says {self.predicted}"
            return "a refused request left a row behind" if self.new else ""
        if self.answer.error is not None:
            return "it was not answered"
        last = max((row.step or 0 for row in self.before), default=0)
        numbers = [row.step for row in self.new]
        if numbers != list(range(last + 1, last + 1 + len(numbers))):
            return f"its numbers do not go on after {last}"
        if len(numbers) < 3 or self.new[-1].state != "STATE_COMPLETED":
            return "the new turn is not whole"
        told = [output.number for output in self.answer.outputs]
        return "" if told == numbers[-1 - len(told) : -1] else "the client was told other numbers"


@dataclass(frozen=True)
class Served:
    """What a server on the restored log showed."""

    asked: tuple[Asked, ...] = ()
    #: Requests that the tool service got.
    requests: int = 0
    #: Conversations that were changed without being asked.
    touched: tuple[str, ...] = ()
    #: Why it could not be rehearsed: a sentence.
    told: str = ""
    is_not_run: bool = False
    #: Seconds until the server answered, and until the first conversation went on.
    phases: Mapping[str, float] = field(default_factory=dict)


def serve(
    looked: Looked,
    chosen: Sequence[ConversationTriage],
    world: World,
    folder: Path,
    settings: Settings,
    binary: Binary | None = None,
) -> Served:
    """Start a server on the restored log and ask the chosen conversations, and a new one."""
    began = time.monotonic()
    generation = binary.generation if binary else looked.generation
    if generation.name not in SERVED_NAMES:
        return Served(told=f"axnb rehearses no server of {generation.label}.", is_not_run=True)
    before = _read(looked.log, settings)
    server = ServedLog(world, folder, looked.log, generation, registered(looked), binary)
    try:
        server.start()
        up = time.monotonic()
        answers = {c.conversation_id: server.ask(c.conversation_id, TEXT) for c in chosen}
        new = f"{NEW}-{folder.name}"
        answers[new] = server.ask(new, TEXT)
        answered = time.monotonic()
        server.stop()
    except AxnbError as err:
        return Served(told=str(err))
    finally:
        server.close()
    after = _read(looked.log, settings)
    predicted = {c.conversation_id: c.next.input for c in chosen} | {new: "new-turn"}
    return Served(
        asked=tuple(
            Asked(key, predicted[key], answer, before.get(key, ()), after.get(key, ()))
            for key, answer in answers.items()
        ),
        requests=len(world.tools.ledger()["requests"]),
        touched=tuple(
            key
            for key in sorted(before.keys() | after.keys())
            if key not in answers and before.get(key) != after.get(key)
        ),
        phases={"start AX": up - began, "first answers": answered - up},
    )


def registered(looked: Looked) -> list[Registered]:
    """A harness for every owner."""
    return [Registered(h.id, h.accepts is False) for h in looked.answer.target.harnesses]


def _read(log: str, settings: Settings) -> dict[str, tuple[Row, ...]]:
    """Every row of a log, by conversation, in AX's order."""
    found: dict[str, list[Row]] = {}
    with Case(None, settings) as case:
        source = load_log(case, locate(log, settings.environment).log)
        with case.reading() as session:
            for row in ask(session, "row_texts", {"source": source}):
                one = Row(row["step"], row["digest"], row["state"], row["kind"])
                found.setdefault(row["conversation_id"], []).append(one)
    return {key: tuple(rows) for key, rows in found.items()}
