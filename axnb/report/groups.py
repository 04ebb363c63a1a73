"""Conversations by what to do: how a group is called, and why its conversations are in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from axnb.report.words import release
from axnb.text import count, cut_middle, safe
from axnb.triaging import ConversationTriage, Triage, UnresolvedCall

TITLES: Mapping[str, str] = {
    "do-not-touch": "Do not touch",
    "quarantine": "Quarantine",
    "name-owner": "Name the owner",
    "read-back-then-unblock": "Read back, then unblock",
    "read-back-then-resume": "Read back, then resume",
    "unblock": "Unblock",
    "resume": "Resume",
    "decide": "Decide",
    "nothing": "Nothing to do",
}
_ID_WIDTH = 28
_REASONS = {
    "read-back-then-unblock": "a side effect may have happened",
    "read-back-then-resume": "a side effect may have happened",
    "unblock": "interrupted, no open side effect",
    "resume": "interrupted, no open side effect",
    "decide": "a question waits for a person",
    "nothing": "finished",
}


def reason(triage: Triage, action: str, chosen: Sequence[ConversationTriage]) -> str:
    """Why the chosen conversations have this action, in a few words."""
    if action == "decide" and not any(c.question_steps for c in chosen):
        return "what the harness would go on from is gone, or does not fit the log"
    if action in _REASONS:
        return _REASONS[action]
    server = release(triage.target.generation)
    first = chosen[0].next
    does = Counter(c.next.empty for c in chosen).most_common(1)[0][0]
    if action == "do-not-touch":
        if does == "wrong-column":
            return "every request fails, and only deletion works"
        if first.history in ("lost", "part"):
            left = "empty" if first.history == "lost" else "incomplete"
            return f"the first request under {server} answers from an {left} history"
        return f"a request under {server} does harm: {does}"
    if action == "quarantine":
        return "one row hides the whole conversation"
    return {
        "harness-missing": "the owner is not registered",
        "harness-changed": "another harness owns the conversation",
    }.get(does, f"{server} does not see the owner; the first request must name it")


#: How a snapshot stands to its log, where that changes what to do.
_RELATIONS = {
    "gone": "its snapshot is not in the bucket",
    "none": "the bucket holds no snapshot of it",
    "log-ahead": "its snapshot is older than the log",
    "snapshot-ahead": "its snapshot is newer than the log",
}


def standing(c: ConversationTriage) -> str:
    """Where a conversation stands, in a few words."""
    told = _standing(c)
    held = c.snapshot
    if held is None:
        return told
    about = _RELATIONS.get(held.relation) or (
        "its snapshot cannot be restored" if held.restorable == "refused" else ""
    )
    return f"{told}; {about}" if about else told


#: How a snapshot stands to its log, at length.
_STANDS = {
    "fits": "it fits the log",
    "unknown": "no time tells whether it or the log is newer",
    "log-ahead": "it is older than the log",
    "snapshot-ahead": "it is newer than the log",
    "gone": "its record names it, and it is not in the bucket",
}


def about_snapshot(c: ConversationTriage) -> str | None:
    """The snapshot that a conversation would go on from; None where no bucket was read."""
    held = c.snapshot
    if held is None:
        return None
    if held.key is None:
        return "no snapshot of it is in the bucket"
    told = [held.restorable or "", _STANDS.get(held.relation, held.relation)]
    return f"snapshot {safe(held.key)}: {', '.join(filter(None, told))}"


def _standing(c: ConversationTriage) -> str:
    if c.action == "nothing":
        return f"{count(c.turns, 'turn')}, {c.state}"
    state = f"turn {c.turns} has no end" if c.state == "interrupted" else c.state
    if c.action in ("read-back-then-resume", "read-back-then-unblock"):
        open_calls = sum(call.consequential for call in c.unresolved)
        if not open_calls:
            return f"{state}; rows are missing"
        return f"{state}; {count(open_calls, 'call')} of unknown outcome"
    if c.action == "name-owner":
        return f"{state}; owner {cut_middle(safe(c.harness or '(not named)'), _ID_WIDTH)}"
    if c.next.if_accepted is not None:
        return f"{state}; its harness decides if it resumes"
    if c.next.empty == c.next.input:
        return f"{state}; every request: {c.next.empty}"
    return f"{state}; an empty request: {c.next.empty}"


def told_of(call: UnresolvedCall) -> str:
    """What the log tells of a call whose outcome it does not tell."""
    if not call.answered:
        return "no result logged"
    return "a placeholder for a result" if call.outcome == "placeholder" else "a time-out"
