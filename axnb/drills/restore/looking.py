"""What is read once a backup is restored: the restored log, its source, and who else remembers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import duckdb

from axnb.ax.behaviour import Harness
from axnb.ax.versions import BUILT_IN_HARNESSES, Generation
from axnb.case.case import Case, ask
from axnb.case.conversation_digests import ConversationDigest, conversation_digests
from axnb.checks.kept import keep_findings
from axnb.drills.restore.comparing import Extent, Standing, extents, standings
from axnb.drills.restore.options import RestoreOptions
from axnb.drills.restore.seals import Seal, read_seal
from axnb.errors import SourceError
from axnb.evidence.load import LoadOptions, load_log
from axnb.evidence.locators import locate
from axnb.loading import load_witnesses, look_closer
from axnb.text import file_name
from axnb.triaging import ConversationTriage, Question, SourceTriage, Triage, triage


@dataclass(frozen=True)
class Call:
    """A call with consequences that a log holds."""

    conversation_id: str
    call_step: int | None
    result_step: int | None
    tool: str
    operation_id: str | None
    outcome: str
    #: The log that holds it, by its name in the case.
    source: str = ""

    @property
    def steps(self) -> set[int]:
        """The numbers of the call and of its result."""
        return {step for step in (self.call_step, self.result_step) if step is not None}

    def is_in(self, steps: Iterable[int]) -> bool:
        """Does the call or its result stand under one of these numbers?"""
        return not self.steps.isdisjoint(steps)


@dataclass(frozen=True)
class Other:
    """Another log that holds the same conversations."""

    name: str
    standings: Mapping[str, Standing]
    calls: tuple[Call, ...]
    #: Do its row numbers tell the order in which its rows were committed?
    is_ordered: bool
    #: The same of the source beside it; empty for the source itself.
    beside_source: Mapping[str, Standing] = field(default_factory=dict)
    #: Why it may hold less than was there, a sentence each.
    doubts: tuple[str, ...] = ()
    #: What a person calls it: its file, or its database.
    called: str = ""


@dataclass(frozen=True)
class Looked:
    """All that was read."""

    case: Case
    #: What the restored log is called in the case, and where it is.
    restored: str
    log: str
    answer: Triage
    extents: Mapping[str, Extent]
    #: The log that the backup is of; None where it is gone or unreadable.
    source: Other | None
    #: Other copies of it.
    others: tuple[Other, ...]
    #: conversation -> the highest number that somebody remembers, and who.
    cursors: Mapping[str, tuple[int, str]]
    #: Sources that could not be read, a sentence each.
    skipped: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    #: What a former drill sealed; None where no seal was given.
    seal: Seal | None = None
    #: One digest for all that each conversation says.
    sealed: Mapping[str | None, ConversationDigest] = field(default_factory=dict)

    @property
    def generation(self) -> Generation:
        """The version that is rehearsed."""
        return self.answer.target.generation

    @property
    def about(self) -> SourceTriage:
        """What was read of the restored log."""
        return next(s for s in self.answer.sources if s.name == self.restored)

    @property
    def conversations(self) -> list[ConversationTriage]:
        """The restored conversations."""
        return [c for c in self.answer.conversations if c.source == self.restored]

    def last_step(self, conversation_id: str) -> int:
        """The last step that the restored log has of a conversation; 0 where it has none."""
        found = self.extents.get(conversation_id)
        return found.last_step if found else 0

    @property
    def witnesses(self) -> list[Other]:
        """The source and its other copies."""
        return [*([self.source] if self.source else []), *self.others]


def look(case: Case, log: str, options: RestoreOptions) -> Looked:
    """Load the restored log and what stands beside it, and hold them against each other.

    Raises SourceError if the restored log itself cannot be read.
    """
    restored = _load(case, log)
    skipped: list[str] = []
    named: list[str | None] = []
    for place in (options.source, *options.others):
        named.append(None)
        if place is not None:
            try:
                named[-1] = _load(case, place, live=options.live and place == options.source)
            except SourceError as err:
                skipped.append(str(err))
    seal = read_seal(options.seal)
    beside = load_witnesses(case, options.clients, options.server_logs)
    skipped += beside.skipped
    with case.writing() as session:
        keep_findings(session)
    question = Question(options.ax_version, tuple(options.harnesses), tuple(options.expectations))
    question = replace(question, harnesses=_registered(case, question))
    answer = triage(case, question, skipped=tuple(skipped))
    with case.reading() as session:
        found = extents(session, restored)
        others = [
            _other(session, restored, name, named[0]) for name in named[1:] if name is not None
        ]
        return Looked(
            case=case,
            restored=restored,
            log=log,
            answer=answer,
            extents=found,
            source=_other(session, restored, named[0]) if named[0] is not None else None,
            others=tuple(others),
            cursors=_cursors(session, options, seal or {}),
            seal=seal,
            skipped=tuple(skipped),
            calls=_calls(session, restored),
            sealed=conversation_digests(session, restored),
        )


def _registered(case: Case, question: Question) -> tuple[Harness, ...]:
    """The harnesses of the rehearsal, the default first: those that are told, else the built-in one
    and all that the logs name. Where nobody says, one takes an empty start."""
    if question.harnesses:
        return tuple(Harness(h.id, h.accepts is not False) for h in question.harnesses)
    seen = {
        harness.id: harness for harness in triage(case, question).target.harnesses if harness.id
    }
    built_in = Harness.named(BUILT_IN_HARNESSES[0])
    found = [built_in, *(harness for name, harness in seen.items() if name != built_in.id)]
    return tuple(Harness(h.id, h.accepts is not False) for h in found)


def _load(case: Case, place: str, *, live: bool = False) -> str:
    located = locate(place, case.settings.environment)

    def after(session: duckdb.DuckDBPyConnection, source: str) -> None:
        look_closer(session, source, case.settings.secrets)

    return load_log(case, located.log, LoadOptions(live=live), after=after)


def _other(
    session: duckdb.DuckDBPyConnection, restored: str, name: str, source: str | None = None
) -> Other:
    (about,) = [found for found in ask(session, "sources") if found["name"] == name]
    return Other(
        name=name,
        standings=standings(session, restored, name),
        calls=_calls(session, name),
        is_ordered="://" not in about["locator"] or about["locator"].startswith("sqlite:"),
        beside_source=standings(session, source, name) if source is not None else {},
        doubts=tuple(about["incomplete"]),
        called=file_name(about["locator"]),
    )


def _calls(session: duckdb.DuckDBPyConnection, source: str) -> tuple[Call, ...]:
    return tuple(
        Call(**found, source=source) for found in ask(session, "logged_calls", {"source": source})
    )


def _cursors(
    session: duckdb.DuckDBPyConnection,
    options: RestoreOptions,
    seal: Seal,
) -> dict[str, tuple[int, str]]:
    """conversation -> the highest number that somebody remembers, and who."""
    told: list[tuple[str, int, str]] = [
        (e.conversation_id, e.last, e.origin) for e in options.expectations
    ]
    told += [(c["conversation_id"], c["last"], "a client") for c in ask(session, "client_cursors")]
    told += [(key, sealed["last_step"] or 0, "the seal") for key, sealed in seal.items()]
    found: dict[str, tuple[int, str]] = {}
    for conversation_id, last, who in told:
        if last > found.get(conversation_id, (0, ""))[0]:
            found[conversation_id] = (last, who)
    return found
