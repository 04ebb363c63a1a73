"""Triage: from what is in a case to what a given AX server does next, and what a person should do.

Everything here is a reading of the case. `triage` writes its findings into the case and returns a
`Triage`, which the command line, a notebook and a report show.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import duckdb
import pyarrow as pa

from axnb.ax import versions
from axnb.ax.behaviour import UNKNOWN, Harness, History, Next, Target, predict
from axnb.ax.versions import G5_OR_G5B, GENERATIONS, Generation
from axnb.case.case import Case, ask, run_sql
from axnb.checks.registry import checks, run_checks
from axnb.errors import UsageError
from axnb.result import Finding, Verdict, Witness, judge

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
        }


@dataclass(frozen=True)
class SourceTriage:
    """What was read of one source."""

    name: str
    kind: str
    locator: str
    generations: tuple[str, ...]
    column: str
    variant: str | None
    read: int
    parsed: int
    rejected: int
    scope: str | None
    custody: dict[str, Any]
    notes: tuple[str, ...]
    incomplete: tuple[str, ...]

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
        }


def triage(
    case: Case, question: Question | None = None, conversations: Sequence[str] = ()
) -> Triage:
    """Triage all sources of a case, or only the named conversations.

    Raises UsageError for an unknown version or a conversation that no source has.
    """
    question = question or Question()
    with case.reading() as session:
        look = _Look(session)
        sources = look.sources()
        target, version_from = choose_target(question, sources, look.harnesses())
        known = look.conversations()
        wanted = {
            key: c for key, c in known.items() if not conversations or key[1] in conversations
        }
        if missing := set(conversations) - {key[1] for key in wanted}:
            raise UsageError(f"no source has a conversation {min(missing)!r}.")
        seen = histories(session, target.generation)
        answers = {key: predict(target, seen[key]) for key in wanted}
        findings = look.findings(target, answers)
        triaged = _triage_conversations(wanted, seen, answers, target, findings, look.silent())
        doubts = _doubts(sources, triaged)
    return Triage(
        verdict=judge(findings, doubts),
        target=target,
        version_from=version_from,
        sources=sources,
        conversations=triaged,
        findings=findings,
        scope=_scope(question, target, sources),
    )


def choose_target(
    question: Question, sources: Sequence[SourceTriage], seen: Sequence[str]
) -> tuple[Target, str]:
    """The server that is asked, and where its version came from.

    Without a version it is the newest generation that the log shows; without harnesses those
    that the log names.
    """
    if question.ax_version:
        generation, version_from = versions.resolve(question.ax_version), "option"
    else:
        names = [name for source in sources for name in source.generations]
        newest = max(names, key=versions.order, default="G8")
        # A log that cannot tell G5 from G5b is asked as the one that was released.
        generation = GENERATIONS["G5b" if newest == G5_OR_G5B else newest]
        version_from = "log" if names else "default"
    if question.harnesses:
        return Target(generation, question.harnesses, declared=True), version_from
    harnesses = tuple(Harness.parse(name) for name in seen)
    return Target(generation, harnesses, declared=False), version_from


Key = tuple[str, str]


def histories(session: duckdb.DuckDBPyConnection, generation: Generation) -> dict[Key, History]:
    """What a server of `generation` decodes from each conversation of a case."""
    kinds = {"G3": "none", "G4": "text", "G8": "none"}
    columns = dict(session.execute("select source, step_column from sources").fetchall())
    found = run_sql(
        session,
        "case",
        "histories.sql",
        {
            "generation": _schema(generation),
            "owner_key": generation.owner_key or "",
            "content_key": generation.content_key,
            "config_kind": kinds.get(generation.name, "object"),
        },
    )
    return {
        (source, conversation_id): History(
            column=columns[source],
            # Rows that AX's own query does not find are nobody's history.
            readable=readable if seen else True,
            pending=pending,
            owner=owner,
            execution=execution,
            contents_decoded=decoded,
            contents_stored=stored,
        )
        for (
            source,
            conversation_id,
            readable,
            pending,
            owner,
            execution,
            decoded,
            stored,
            seen,
        ) in found
    }


def _schema(generation: Generation) -> str:
    """The generation whose schema a release decodes with: G5b reads as G5."""
    return "G5" if generation.name == "G5b" else generation.name


class _Look:
    """What triage reads from a case, in one session."""

    def __init__(self, session: duckdb.DuckDBPyConnection) -> None:
        self._session = session

    def sources(self) -> tuple[SourceTriage, ...]:
        return tuple(
            SourceTriage(
                **{
                    **found,
                    "custody": json.loads(found["custody"]),
                    "notes": tuple(found["notes"]),
                    "incomplete": tuple(found["incomplete"]),
                    "generations": _ordered(found["generations"]),
                }
            )
            for found in ask(self._session, "sources")
        )

    def harnesses(self) -> list[str]:
        return [found["harness_id"] for found in ask(self._session, "harnesses")]

    def conversations(self) -> dict[Key, dict[str, Any]]:
        """Conversations with their unresolved calls and open questions."""
        unresolved: dict[Key, list[UnresolvedCall]] = {}
        for call in ask(self._session, "unresolved_calls"):
            key = call.pop("source"), call.pop("conversation_id")
            unresolved.setdefault(key, []).append(UnresolvedCall(**call))
        questions: dict[Key, list[int | None]] = {}
        for question in ask(self._session, "open_questions"):
            key = question["source"], question["conversation_id"]
            questions.setdefault(key, []).append(question["step"])
        found = {}
        for record in ask(self._session, "conversations"):
            key = record["source"], record["conversation_id"]
            found[key] = {
                **record,
                "calls": {o["outcome"]: o["calls"] for o in record["outcomes"]},
                "unresolved": unresolved.get(key, []),
                "question_steps": questions.get(key, []),
            }
        return found

    def findings(self, target: Target, answers: Mapping[Key, Next]) -> tuple[Finding, ...]:
        """Run all checks over the conversations that were asked about."""
        table = pa.table(
            {
                "source": pa.array([key[0] for key in answers], pa.string()),
                "conversation_id": pa.array([key[1] for key in answers], pa.string()),
                "empty": pa.array([answer.empty for answer in answers.values()], pa.string()),
                "input": pa.array([answer.input for answer in answers.values()], pa.string()),
                "history": pa.array([answer.history for answer in answers.values()], pa.string()),
            }
        )
        self._session.register("asked_answers", table)
        values = {"generation": _schema(target.generation)}
        run_sql(self._session, "checks", "views/answers.sql", values)
        run_checks(self._session, checks(), {"asked": target.generation.label})
        found = ask(self._session, "findings")
        key = self._digest_key() if found else b""
        return tuple(_finding(record, key) for record in found)

    def _digest_key(self) -> bytes:
        """A key that whoever has the evidence can derive, and nobody else."""
        (seed,) = ask(self._session, "digest_key")
        return hashlib.sha256(f"{seed['mixed']}/{seed['events']}".encode()).digest()

    def silent(self) -> set[Key]:
        """(source, harness) of harnesses that never log a result; an unnamed one is empty."""
        found = ask(self._session, "silent_harnesses")
        return {(f["source"], f["harness_id"]) for f in found}


def _ordered(generations: Sequence[str]) -> tuple[str, ...]:
    """Generations oldest first; the one that cannot be told is left out beside those that can."""
    names = set(generations)
    if names & {"G5", "G5b"}:
        names.discard(G5_OR_G5B)
    return tuple(sorted(names, key=versions.order))


def _finding(record: Mapping[str, Any], key: bytes) -> Finding:
    witness = (w for w in record["witness"] if w is not None)
    return Finding(
        **{
            **record,
            "witness": tuple(Witness(w["step"], _keyed(w["digest"], key)) for w in witness),
        }
    )


def _keyed(digest: str | None, key: bytes) -> str | None:
    return None if digest is None else hmac.new(key, digest.encode(), "sha256").hexdigest()


def _triage_conversations(
    wanted: Mapping[Key, dict[str, Any]],
    seen: Mapping[Key, History],
    answers: Mapping[Key, Next],
    target: Target,
    findings: Sequence[Finding],
    silent: set[Key],
) -> tuple[ConversationTriage, ...]:
    ids: dict[Key, set[str]] = {}
    for finding in findings:
        if finding.conversation_id is not None:
            ids.setdefault((finding.source, finding.conversation_id), set()).add(finding.id)
    return tuple(
        ConversationTriage(
            source=key[0],
            conversation_id=key[1],
            state=record["state"],
            open_questions=record["open_questions"],
            turns=record["turns"],
            last_step=record["last_step"],
            harness=record["harness_id"],
            generations=tuple(sorted(record["generations"], key=versions.order)),
            calls=record["calls"],
            unresolved=tuple(record["unresolved"]),
            question_steps=tuple(record["question_steps"]),
            next=answers[key],
            action=choose_action(
                record["state"],
                answers[key],
                unresolved=any(call.consequential for call in record["unresolved"]),
                asks=record["open_questions"] > 0,
                silent=(key[0], record["harness_id"] or "") in silent,
                owner_lost=_owner_lost(record["harness_id"], seen[key].owner, target),
            ),
            findings=tuple(sorted(ids.get(key, ()))),
        )
        for key, record in wanted.items()
    )


def _owner_lost(named: str | None, seen: str, target: Target) -> bool:
    """Does the asked server take another owner than the one that the log names first?"""
    return target.generation.owner_key is not None and named is not None and named != seen


def choose_action(
    state: str,
    answer: Next,
    *,
    unresolved: bool = False,
    asks: bool = False,
    silent: bool = False,
    owner_lost: bool = False,
) -> str:
    """What a person should do with a conversation, given what the asked server does next.

    `unresolved`: the outcome of a call is not known. `asks`: a question waits for a person.
    `silent`: its harness never logs results, so on a finished conversation that says nothing.
    `owner_lost`: the asked server does not see the owner that the log names, or takes another.
    """
    does = {answer.empty, answer.input}
    if does & {"wrong-column"} or answer.history in ("lost", "part"):
        return "do-not-touch"
    if state == "unreadable" or does & {"unreadable", "unknown"}:
        return "quarantine"
    if owner_lost or does & {"harness-changed", "harness-missing"}:
        return "name-owner"
    if does & {"blocked", "lost-pending"}:
        return "read-back-then-unblock" if unresolved else "unblock"
    if does & {"asks-again"}:
        return "decide"
    if state == "interrupted" or does & {"closes-unrun"}:
        return "read-back-then-resume" if unresolved else "resume"
    if unresolved and not silent:
        return "read-back-then-resume"
    return "decide" if asks else "nothing"


def _doubts(
    sources: Sequence[SourceTriage], conversations: Sequence[ConversationTriage]
) -> list[str]:
    """Why the verdict cannot be ok, whatever the findings say."""
    doubts = [] if sources else ["no source was loaded."]
    for source in sources:
        doubts += source.incomplete
        if source.read == 0:
            doubts.append(f"{source.name} holds no rows.")
        if source.rejected:
            doubts.append(f"{source.rejected} rows of {source.name} could not be read.")
    if any(c.next.empty == UNKNOWN for c in conversations):
        doubts.append("what AX does next is not known for every conversation.")
    if any(call.consequential for c in conversations for call in c.unresolved):
        doubts.append("the outcome of a consequential call is not known.")
    return doubts


def _scope(question: Question, target: Target, sources: Sequence[SourceTriage]) -> tuple[str, ...]:
    sentences = ["Not looked at: snapshots, ledgers, server logs, client transcripts."]
    sentences += [
        f"Only conversation {source.scope} of {source.name} was read."
        for source in sources
        if source.scope is not None
    ]
    sentences.append("A log without gaps can still have lost outputs.")
    if not question.ax_version:
        sentences.append(f"Asked as {target.generation.label}, the newest that the log shows.")
    if not question.harnesses:
        sentences.append("Harnesses were taken from the log; others may be registered.")
    return tuple(sentences)
