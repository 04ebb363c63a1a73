"""Conversations by what to do: how a group is called, and why its conversations are in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from axnb.report.words import release
from axnb.triaging import ConversationTriage, Triage

TITLES: Mapping[str, str] = {
    "do-not-touch": "DO NOT TOUCH",
    "quarantine": "QUARANTINE",
    "name-owner": "NAME THE OWNER",
    "read-back-then-unblock": "READ BACK, THEN UNBLOCK",
    "read-back-then-resume": "READ BACK, THEN RESUME",
    "unblock": "UNBLOCK",
    "resume": "RESUME",
    "decide": "DECIDE",
    "nothing": "NOTHING TO DO",
}
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
