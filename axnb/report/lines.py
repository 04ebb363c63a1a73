"""The lines of a timeline: what is said of each part of a row, before anybody lays it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from axnb.report.lanes import OPEN_STATES
from axnb.report.timeline import Entry, Record, Timeline
from axnb.report.words import name
from axnb.text import columns

#: Columns for what is said of a part; names and ids are cut to fit them.
ABOUT = 48

_SIGNS = {
    "text": "▪ text",
    "thought": "▪ thought",
    "tool_call": "◆ call",
    "tool_result": "◇ result",
}
_SIGNALS = {"timeout": "a time-out", "placeholder": "a placeholder", "pending": "a placeholder"}
_PAIRED = {"id": "by id", "order": "by order", "inferred": "inferred"}
_OUTCOMES = {"awaiting-decision": "waits for a person"}


@dataclass(frozen=True)
class Line:
    """A part of a row, its end, or that it cannot be read."""

    #: A sign and a word: `◆ call`.
    sign: str
    #: What is said of it, the most important first; empty texts are nothing.
    about: tuple[str, ...] = ()
    #: Bytes of its payload; 0 where it has none.
    size: int = 0
    #: Keyed, of its row's text; empty where the line is of no payload.
    digest: str = ""
    #: The part of the row that holds the payload, from 1; 0 for the row's raw bytes; None without.
    part: int | None = None
    #: The payload itself, if the timeline was read with payloads and it was kept.
    payload: str | bytes | None = None


def lines(timeline: Timeline, entry: Entry) -> Iterator[Line]:
    """The lines of one row, in order."""
    if entry.unreadable is not None:
        about = (name(entry.unreadable, ABOUT - 1),)
        yield Line("✗ unreadable", about, entry.size, entry.digest, 0, entry.raw)
        return
    for part in entry.parts:
        sign, told = _part(timeline, entry, part)
        size, payload = part["size"], part.get("value") or None
        yield Line(sign, tuple(told), size, entry.digest, part["part"], payload)
    if entry.state not in OPEN_STATES:
        yield Line("■ end", (entry.state.removeprefix("STATE_").lower(),))
    elif not entry.parts:
        yield Line("▪ nothing", ("a row without content",))


def _part(timeline: Timeline, entry: Entry, part: Record) -> tuple[str, list[str]]:
    """The sign of a part, and what is said of it, the most important first."""
    kind = part["kind"]
    if kind == "tool_call":
        return _SIGNS[kind], _call(part, timeline.calls.get((entry.position, part["part"])))
    if kind == "tool_result":
        return _SIGNS[kind], _result(
            part, timeline.answered.get((entry.position, part["call_id"] or ""))
        )
    if kind == "confirmation":
        return _confirmation(timeline, entry, part)
    if kind == "text" and part["role"] == "user":
        return "▸ user", []
    return _SIGNS.get(kind, f"▪ {name(kind, 9)}"), []


def _confirmation(timeline: Timeline, entry: Entry, part: Record) -> tuple[str, list[str]]:
    question = name(part["call_id"], 24) or "(no id)"
    if part["decision"] != "asked":
        return f"▸ {name(part['decision'], 9)}", [question]
    outcome = timeline.questions.get((entry.position, part["call_id"] or ""), "")
    return "▪ question", [question, _OUTCOMES.get(outcome, outcome)]


def _call(part: Record, call: Record | None) -> list[str]:
    tool = name(part["tool"], 20) or "(no name)"
    if call is None:
        return [tool, name(part["call_id"], 24) or "(no id)"]
    outcome = f"outcome {_OUTCOMES.get(call['outcome'], call['outcome'])}"
    room = ABOUT - 4 - columns(tool) - columns(outcome)
    operation = name(call["operation_id"], max(room, 8)) or "(no id)"
    origin = ""
    if call["operation_id_from"] not in ("call-id", "none"):
        origin = f"(from {name(call['operation_id_from'], 40)})"
    if origin and columns(operation) + columns(origin) < room:
        operation, origin = f"{operation} {origin}", ""
    about = [tool, operation, outcome, origin]
    if call["observations"] > 1:
        about.append(f"logged {call['observations']:,} times")
    return about


def _result(part: Record, call: Record | None) -> list[str]:
    said = _SIGNALS.get(part["signal"] or "") or ("an error" if part["is_error"] else "")
    if call is None:
        return [name(part["tool"], 20), "no call claims it", said]
    step = "?" if call["call_step"] is None else call["call_step"]
    paired = _PAIRED.get(call["pairing"] or "", "")
    return [name(call["tool"], 20) or "(no name)", f"of step {step}, {paired}", said]
