"""Triage: from what is in a case to what a given AX server does next, and what a person should do.

Everything here is a reading of the case. `triage` returns a `Triage`, which the command line, a
notebook and a report show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from axnb.ax import versions
from axnb.ax.behaviour import UNKNOWN, Harness, History, Next, Target, predict
from axnb.ax.versions import G5_OR_G5B, GENERATIONS
from axnb.case.case import Case
from axnb.errors import UsageError
from axnb.result import Finding, judge
from axnb.triaging.answer import (
    ACTIONS,
    ConversationTriage,
    HeldSnapshot,
    Question,
    SourceTriage,
    Triage,
    UnresolvedCall,
)
from axnb.triaging.look import Key, Look, histories
from axnb.triaging.witnesses import Expectation

__all__ = [
    "ACTIONS",
    "ConversationTriage",
    "Expectation",
    "Question",
    "SourceTriage",
    "Triage",
    "UnresolvedCall",
    "choose_action",
    "choose_target",
    "histories",
    "triage",
]


def triage(
    case: Case,
    question: Question | None = None,
    conversations: Sequence[str] = (),
    skipped: Sequence[str] = (),
) -> Triage:
    """Triage all sources of a case, or only the named conversations.

    `skipped` says of sources that could not be loaded why not: then the answer is not ok. Raises
    UsageError for an unknown version or a conversation that no source has.
    """
    question = question or Question()
    for expectation in question.expectations:
        if conversations and expectation.conversation_id not in conversations:
            raise UsageError(
                f"step {expectation.last} is expected of {expectation.conversation_id[:80]!r}, and "
                "only other conversations were asked about."
            )
    with case.reading() as session:
        look = Look(session, conversations)
        sources = look.sources()
        target, version_from = choose_target(question, sources, look.harnesses())
        known = look.conversations()
        wanted = {
            key: c for key, c in known.items() if not conversations or key[1] in conversations
        }
        elsewhere = look.witnessed() | {e.conversation_id for e in question.expectations}
        if missing := set(conversations) - {key[1] for key in wanted} - elsewhere:
            raise UsageError(_no_conversation(min(missing), look))
        seen = histories(session, target.generation, conversations)
        answers = {key: predict(target, seen[key]) for key in wanted}
        held = look.snapshots(case.settings.target)
        findings = look.findings(target, answers, seen, question.expectations)
        # Only of a call without a result it matters whether its harness ever logs one.
        silent = look.silent() if any(c["unresolved"] for c in wanted.values()) else set()
        triaged = _triage_conversations(wanted, seen, answers, target, findings, silent, held)
        triaged, when = _timed(triaged, look.times())
        scope = (
            *skipped,
            *_scope(question, target, sources),
            *look.not_compared(),
            *look.not_held_against_now(),
        )
        doubts = [*skipped, *_doubts(sources, triaged)]
    return Triage(
        verdict=judge(findings, doubts),
        target=target,
        version_from=version_from,
        sources=sources,
        conversations=triaged,
        findings=findings,
        scope=scope,
        skipped=tuple(skipped),
        first_seen=when[0],
        last_seen=when[1],
    )


def _no_conversation(missing: str, look: Look) -> str:
    close = look.close_ids(missing)
    if not close:
        return f"no source has a conversation {missing[:80]!r}."
    names = ", ".join(map(repr, close))
    return f"no source has a conversation {missing[:80]!r}; these ids look like it: {names}."


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
    harnesses = tuple(Harness.named(name) for name in seen)
    return Target(generation, harnesses, declared=False), version_from


def _triage_conversations(
    wanted: Mapping[Key, dict[str, Any]],
    seen: Mapping[Key, History],
    answers: Mapping[Key, Next],
    target: Target,
    findings: Sequence[Finding],
    silent: set[Key],
    held: Mapping[Key, HeldSnapshot],
) -> tuple[ConversationTriage, ...]:
    ids = _ids_by_conversation(wanted, findings)
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
                incomplete=bool(ids.get(key, set()) & _ROWS_ARE_MISSING),
                forgotten=key in held and held[key].is_lost,
            ),
            findings=tuple(sorted(ids.get(key, ()))),
            snapshot=held.get(key),
        )
        for key, record in wanted.items()
    )


def _ids_by_conversation(
    wanted: Mapping[Key, Any], findings: Sequence[Finding]
) -> dict[Key, set[str]]:
    """Classes of findings about each conversation; those of a bucket or of records are about the
    conversation in whatever log it is."""
    logs: dict[str, list[Key]] = {}
    for key in wanted:
        logs.setdefault(key[1], []).append(key)
    ids: dict[Key, set[str]] = {}
    for finding in findings:
        if finding.conversation_id is None:
            continue
        key = (finding.source, finding.conversation_id)
        for one in [key] if key in wanted else logs.get(finding.conversation_id, []):
            ids.setdefault(one, set()).add(finding.id)
    return ids


def _timed(
    conversations: Sequence[ConversationTriage], times: Mapping[Key, tuple[str, str]]
) -> tuple[tuple[ConversationTriage, ...], tuple[str | None, str | None]]:
    """Conversations with their times, and the span of those that need attention."""
    timed = tuple(
        replace(c, first_seen=found[0], last_seen=found[1])
        if (found := times.get((c.source, c.conversation_id)))
        else c
        for c in conversations
    )
    needing = [c for c in timed if c.action != "nothing" or c.findings]
    first = min((c.first_seen for c in needing if c.first_seen), default=None)
    return timed, (first, max((c.last_seen for c in needing if c.last_seen), default=None))


def _owner_lost(named: str | None, seen: str, target: Target) -> bool:
    """Does the asked server take another owner than the one that the log names first?"""
    return target.generation.owner_key is not None and named is not None and named != seen


#: Findings that say that rows are gone, were never logged, or are not the ones that others
#: remember: the calls in them may have had effects.
_ROWS_ARE_MISSING = {"AX101", "AX102", "AX103", "AX104", "AX107", "AX118", "AX119", "AX330"}

#: What a request does that does harm by itself: it repeats effects, leaves a row behind, ends a
#: turn that never ran, or leads to a log on which only deletion works.
_HARMFUL = {"re-runs", "appends-then-fails", "closes-unrun", "wrong-column"}


def choose_action(
    state: str,
    answer: Next,
    *,
    unresolved: bool = False,
    asks: bool = False,
    silent: bool = False,
    owner_lost: bool = False,
    incomplete: bool = False,
    forgotten: bool = False,
) -> str:
    """What a person should do with a conversation, given what the asked server does next.

    `unresolved`: the outcome of a call is not known. `asks`: a question waits for a person.
    `silent`: its harness never logs results, so on a finished conversation that says nothing.
    `owner_lost`: the asked server does not see the owner that the log names, or takes another.
    `incomplete`: what the log holds of it is not all that happened, so neither are its calls.
    `forgotten`: its snapshot is gone, refused or older than the log, so its harness would go on
    without what the log tells.
    """
    does = {answer.empty, answer.input}
    if does & _HARMFUL or answer.history in ("lost", "part"):
        return "do-not-touch"
    if state == "unreadable" or does & {"unreadable", "unknown"}:
        return "quarantine"
    if owner_lost or does & {"harness-changed", "harness-missing"}:
        return "name-owner"
    if does & {"blocked", "lost-pending"}:
        return "read-back-then-unblock" if unresolved or incomplete else "unblock"
    if does & {"asks-again"}:
        return "decide"
    if state == "interrupted":
        if unresolved or incomplete:
            return "read-back-then-resume"
        return "decide" if forgotten else "resume"
    if incomplete or (unresolved and not silent):
        return "read-back-then-resume"
    return "decide" if asks or forgotten else "nothing"


def _doubts(
    sources: Sequence[SourceTriage], conversations: Sequence[ConversationTriage]
) -> list[str]:
    """Why the verdict cannot be ok, whatever the findings say."""
    doubts = [] if any(s.is_log for s in sources) else ["no event log was loaded."]
    for source in sources:
        doubts += source.incomplete
        if source.kind in ("bucket", "records") and source.rejected:
            what = "objects" if source.kind == "bucket" else "records"
            doubts.append(f"{source.rejected} {what} of {source.name} could not be read.")
        if not source.is_log:
            continue
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
    kinds = {source.kind for source in sources}
    not_seen = [] if "bucket" in kinds else ["snapshots"]
    not_seen += ["records"] if "bucket" in kinds and "records" not in kinds else []
    not_seen += ["ledgers"]
    not_seen += ["server logs"] if "server-log" not in kinds else []
    not_seen += ["client transcripts"] if "client" not in kinds else []
    sentences = [f"Not looked at: {', '.join(not_seen)}."]
    sentences += [
        f"Only conversation {source.scope} of {source.name} was read."
        for source in sources
        if source.scope is not None
    ]
    sentences.append("A log without gaps can still have lost outputs (axnb explain AX119).")
    if not question.ax_version:
        shown = "what was read" if any(s.scope for s in sources) else "the log"
        sentences.append(f"Asked as {target.generation.label}, the newest that {shown} shows.")
    if not question.harnesses:
        sentences.append("Harnesses were taken from the log; others may be registered.")
    return tuple(sentences)
