"""Calls and entries with their classes, as they were judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb

from axnb.case.case import run_sql
from axnb.drills.reconciliation.advice import Advice, advise
from axnb.drills.reconciliation.matching import CLASSES
from axnb.settings import Tool

#: Calls and entries that a result lists at most; all are counted.
MOST = 10_000


@dataclass(frozen=True)
class Judged:
    """A call, or an entry that no call asked for, with its class and both witnesses."""

    tool: str | None
    operation_id: str | None
    found: str
    #: How both were matched.
    how: str
    advice: Advice
    conversation_id: str | None
    #: The call: its log, its step and how the log has it; None where there is none.
    source: str | None
    step: int | None
    outcome: str | None
    call_digest: str | None
    #: The entry: its ledger, its row there and its word for it; None where there is none.
    ledger: str | None
    entry: int | None
    status: str | None
    entry_digest: str | None
    consequential: bool

    def as_dict(self) -> dict[str, Any]:
        """An entry of `effects`."""
        return {
            "tool": self.tool,
            "operation_id": self.operation_id,
            "class": self.found,
            "how": self.how,
            "advice": self.advice,
            "conversation_id": self.conversation_id,
            "step": self.step,
            "source": self.source,
            "outcome": self.outcome,
            "call": self.call_digest,
            "ledger": self.ledger,
            "entry": self.entry,
            "status": self.status,
            "effect": self.entry_digest,
        }


def judged(session: duckdb.DuckDBPyConnection, tools: Mapping[str, Tool]) -> list[Judged]:
    """The first of them, the worst classes first."""
    rows = run_sql(
        session, "drills", "reconciliation/judged.sql", {"most": MOST, "classes": list(CLASSES)}
    )
    return list(_judged(rows, tools))


def _judged(rows: list[Any], tools: Mapping[str, Tool]) -> Iterator[Judged]:
    for tool, operation_id, found, how, *rest in rows:
        said, outcome = tools.get(tool), rest[3]
        yield Judged(
            tool,
            operation_id,
            found,
            how,
            advise(found, said.retry if said else None, outcome),
            *rest,
        )


class Number(NamedTuple):
    """How many calls and entries; those with consequences, and those whose outcome is open, too."""

    found: int
    consequential: int
    unanswered: int


Counts = Mapping[str, Mapping[str, Number]]


def counts(session: duckdb.DuckDBPyConnection) -> Counts:
    """Tool -> class -> how many."""
    found: dict[str, dict[str, Number]] = {}
    for tool, name, *numbers in run_sql(session, "drills", "reconciliation/counts.sql"):
        found.setdefault(tool, {})[name] = Number(*numbers)
    return {
        tool: {name: of[name] for name in CLASSES if name in of}
        for tool, of in sorted(found.items())
    }
