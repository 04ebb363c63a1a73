"""What to do about a call or an entry: by its class, and by how its tool may be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Advice = Literal["nothing", "retry", "read-before-retry", "human-decision", "never"]

#: What has happened, or may have, must not happen again; and nobody knows why it is as it is.
_BY_A_PERSON = frozenset(
    {"duplicated", "cancelled-committed", "no-call-in-log", "arguments-differ", "reversed"}
)

#: Whoever cannot tell whether it happened.
_UNKNOWN: Mapping[str | None, Advice] = {
    "read": "retry",
    "idempotent": "retry",
    "barrier": "human-decision",
    None: "read-before-retry",
}


def advise(found: str, retry: str | None, outcome: str | None = None) -> Advice:
    """Advice for a class, where `[tools.NAME]` says how its tool may be repeated, or nothing.

    Where the log has an outcome, somebody has gone on from it: to make the call now is no retry.

    A barrier asks for a person before anything; an idempotent call may be repeated under the same
    operation id, which nobody knows of a rounded number.
    """
    if found == "matched":
        return "nothing"
    is_open = outcome in (None, "unknown", "placeholder")
    if found in _BY_A_PERSON or (found == "not-executed" and not is_open):
        return "human-decision"
    if not is_open and retry != "read":
        return "human-decision" if retry == "barrier" else "read-before-retry"
    if found == "result-lost":
        return "never"
    if found in ("ambiguous", "ambiguous-number") and retry != "read":
        return "human-decision" if retry in ("barrier", "idempotent") else "read-before-retry"
    if found == "not-executed" and retry is None:
        return "read-before-retry"
    return _UNKNOWN[retry]
