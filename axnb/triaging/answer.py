"""What triage answers, and how it is asked: plain data, with the stable JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from axnb.ax.behaviour import Harness, Next, Target
from axnb.result import Finding, Verdict
from axnb.triaging.witnesses import Expectation

#: Actions, the most urgent first.
ACTIONS = (
    "do-not-touch",
    "quarantine",
    "name-owner",
    "read-back-then-unblock",
    "read-back-then-resume",
    "unblock",
    "resume",
    "decide",
    "nothing",
)


@dataclass(frozen=True)
class Question:
    """How the server is asked: its version and harnesses as the user gave them."""

    ax_version: str | None = None
    harnesses: tuple[Harness, ...] = ()
    #: What the user knows of conversations beside the log.
    expectations: tuple[Expectation, ...] = ()

    @classmethod
    def parse(
        cls,
        ax_version: str | None,
        harnesses: Sequence[str],
        expected: Sequence[str],
        conversations: Sequence[str] = (),
    ) -> Question:
        """A question as a person types it, about the named conversations or all.

        Raises UsageError for a harness or an expectation that cannot be meant.
        """
        return cls(
            ax_version or None,
            tuple(Harness.parse(text) for text in harnesses),
            tuple(Expectation.parse(text, conversations) for text in expected),
        )


@dataclass(frozen=True)
class UnresolvedCall:
    """A call whose outcome the log does not tell."""

    step: int | None
    tool: str
    operation_id: str | None
    operation_id_from: str
    outcome: str
    #: Was a result logged at all?
    answered: bool
    consequential: bool

    def as_dict(self) -> dict[str, Any]:
        """The call as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class HeldSnapshot:
    """The snapshot that a conversation would go on from.

    relation   `fits`, `log-ahead`, `snapshot-ahead`, `running` (its actor goes on, and will write a
               newer one), `unknown` (no times tell), `gone` (its record names one that is not in
               the bucket) or `none` (the bucket holds none of it)
    """

    key: str | None
    restorable: str | None
    relation: str

    @property
    def is_lost(self) -> bool:
        """Would the harness have forgotten what the log tells?"""
        return self.relation in ("gone", "none", "log-ahead") or self.restorable == "refused"

    def as_dict(self) -> dict[str, Any]:
        """The entry `snapshot` of a conversation in `axnb.triage/1`."""
        return asdict(self)


@dataclass(frozen=True)
class ConversationTriage:
    """One conversation of a source."""

    source: str
    conversation_id: str
    state: str
    open_questions: int
    turns: int
    last_step: int | None
    harness: str | None
    generations: tuple[str, ...]
    calls: dict[str, int]
    unresolved: tuple[UnresolvedCall, ...]
    question_steps: tuple[int | None, ...]
    next: Next
    action: str
    findings: tuple[str, ...]
    #: ISO 8601 in UTC; None where nothing tells the time.
    first_seen: str | None = None
    last_seen: str | None = None
    #: None where no bucket was read.
    snapshot: HeldSnapshot | None = None

    def as_dict(self) -> dict[str, Any]:
        """An entry of `conversations` in `axnb.triage/1`."""
        return {
            "source": self.source,
            "conversation_id": self.conversation_id,
            "state": self.state,
            "open_questions": self.open_questions,
            "turns": self.turns,
            "last_step": self.last_step,
            "harness": self.harness,
            "generations": list(self.generations),
            "calls": self.calls,
            "unresolved_calls": [call.as_dict() for call in self.unresolved],
            "next": self.next.as_dict(),
            "action": self.action,
            "findings": list(self.findings),
            "first_seen": self.first_seen,
            "last_seen": self.last_seen,
            "snapshot": self.snapshot.as_dict() if self.snapshot else None,
        }


@dataclass(frozen=True)
class SourceTriage:
    """What was read of one source: an event log, what stands beside it, a bucket, records."""

    name: str
    kind: str
    locator: str
    generations: tuple[str, ...]
    column: str | None
    variant: str | None
    read: int
    parsed: int
    rejected: int
    scope: str | None
    custody: dict[str, Any]
    notes: tuple[str, ...]
    incomplete: tuple[str, ...]

    @property
    def is_log(self) -> bool:
        """Is it an event log?"""
        return self.kind == "eventlog"

    def as_dict(self) -> dict[str, Any]:
        """An entry of `sources` in `axnb.triage/1`; paths are kept out of it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "generations": list(self.generations),
            "variant": self.variant,
            "step_column": self.column,
            "read": self.read,
            "parsed": self.parsed,
            "rejected": self.rejected,
            "conversation": self.scope,
            "custody": self.custody,
            "notes": list(self.notes),
            "incomplete": list(self.incomplete),
        }


@dataclass(frozen=True)
class Triage:
    """The answer: `as_dict` is `axnb.triage/1`."""

    verdict: Verdict
    target: Target
    #: Where the version came from: option, or the newest generation that the log shows.
    version_from: str
    sources: tuple[SourceTriage, ...]
    conversations: tuple[ConversationTriage, ...]
    findings: tuple[Finding, ...]
    #: What was not looked at, and what was assumed: a sentence each.
    scope: tuple[str, ...] = ()
    #: Why a source that was named could not be read: a sentence each, in the scope too.
    skipped: tuple[str, ...] = ()
    #: When the conversations that need attention were seen: ISO 8601 in UTC; None if unknown.
    first_seen: str | None = None
    last_seen: str | None = None

    def by_urgency(self) -> list[ConversationTriage]:
        """All conversations, the most urgent first."""
        return sorted(self.conversations, key=lambda c: ACTIONS.index(c.action))

    def as_dict(self) -> dict[str, Any]:
        """The stable JSON, `axnb.triage/1`."""
        return {
            "schema": "axnb.triage/1",
            "verdict": self.verdict,
            "target": {
                "generation": self.target.generation.name,
                "harnesses": [str(harness) for harness in self.target.harnesses],
                "version_from": self.version_from,
            },
            "sources": [source.as_dict() for source in self.sources],
            "conversations": [c.as_dict() for c in self.conversations],
            "findings": [finding.as_dict() for finding in self.findings],
            "scope": list(self.scope),
            "first_seen": self.first_seen,
            "last_seen": self.last_seen,
        }
