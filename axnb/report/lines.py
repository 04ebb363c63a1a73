"""The lines of a timeline: what stands below what, and what is said of each part of a row.

Whoever shows them, on a terminal or in a notebook, says how they look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from axnb.report.lanes import OPEN_STATES
from axnb.report.timeline import Entry, Record, Timeline
from axnb.report.words import SEVERITIES, name
from axnb.result import Finding
from axnb.text import columns, count, safe
from axnb.triaging import ConversationTriage, Triage

#: Events of servers' logs that are shown.
_MOST_EVENTS = 12

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


@dataclass(frozen=True)
class Placed:
    """A line in its place: only the first one of a row has a step, only that of a turn a turn."""

    line: Line
    entry: Entry
    step: str = ""
    turn: str = ""


@dataclass(frozen=True)
class Gap:
    """Rows that are not shown."""

    rows: int


@dataclass(frozen=True)
class More:
    """Lines of one row, or findings about one step, that are not shown."""

    count: int
    noun: str


@dataclass(frozen=True)
class Hidden:
    """The row above is one that AX does not find when it reads the conversation."""

    entry: Entry


def findings_of(triage: Triage, conversation: ConversationTriage) -> list[Finding]:
    """The findings about a conversation, the worst first."""
    key = conversation.source, conversation.conversation_id
    found = (f for f in triage.findings if (f.source, f.conversation_id) == key)
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def laid_out(
    timeline: Timeline, findings: Iterable[Finding], most: int | None = None
) -> Iterator[Placed | Gap | More | Hidden | Finding]:
    """A timeline from top to bottom, with the findings about a step below the last row of it.

    At most `most` lines of each row, and as many findings about each step: a row can hold
    thousands of calls.
    """
    at_step: dict[int | None, list[Finding]] = {}
    for finding in findings:
        at_step.setdefault(finding.step, []).append(finding)
    last_of_step = {e.step: e.n for e in timeline.entries}
    before = turn = 0
    for entry in timeline.entries:
        if entry.n > before + 1:
            yield Gap(entry.n - before - 1)
        yield from _up_to(most, _placed(timeline, entry, turn), "part")
        if not entry.visible:
            yield Hidden(entry)
        if entry.step is not None and last_of_step[entry.step] == entry.n:
            yield from _up_to(most, at_step.get(entry.step, ()), "finding")
        before, turn = entry.n, entry.turn
    if timeline.total > before:
        yield Gap(timeline.total - before)


def _placed(timeline: Timeline, entry: Entry, turn: int) -> Iterator[Placed]:
    step = "?" if entry.step is None else str(entry.step)
    label = f"turn {entry.turn}" if entry.turn != turn else ""
    for n, line in enumerate(lines(timeline, entry)):
        yield Placed(line, entry) if n else Placed(line, entry, step, label)


Item = TypeVar("Item")


def _up_to(most: int | None, items: Iterable[Item], noun: str) -> Iterator[Item | More]:
    rest = iter(items)
    yield from islice(rest, most)
    if more := sum(1 for _ in rest):
        yield More(more, noun)


def left_out(timeline: Timeline, findings: Iterable[Finding]) -> list[Finding]:
    """The findings that `laid_out` has no row for."""
    steps = {e.step for e in timeline.entries if e.step is not None}
    return [f for f in findings if f.step not in steps]


def told_events(timeline: Timeline) -> Iterator[str]:
    """What servers' logs say beside the rows: which row an event belongs to, no log tells."""
    for event in timeline.server_events[:_MOST_EVENTS]:
        reason = f" ({safe(event['reason'])})" if event["reason"] else ""
        yield f"server log {event['at'] or 'no time':<23}   {event['event']}{reason}"
    if len(timeline.server_events) > _MOST_EVENTS:
        yield f"server log … {count(len(timeline.server_events) - _MOST_EVENTS, 'more event')}"


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
