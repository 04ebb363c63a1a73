"""One conversation on a terminal: its turns and parts, redacted unless a person asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from axnb.case.case import Case
from axnb.errors import UsageError
from axnb.report.commands import PLANNED, Command, Commands, explain, next_lines
from axnb.report.lanes import OPEN_STATES
from axnb.report.reveal import shown_payload
from axnb.report.timeline import Entry, Record, Timeline, read_timeline
from axnb.report.words import SEVERITIES, SEVERITY_SIGNS, advice, name, would_answer
from axnb.result import Finding
from axnb.text import columns, count, cut_middle, fold, pad, safe, wrap
from axnb.triaging import ConversationTriage, Triage

WIDTH = 100

#: Where the signs stand, what is said of a part, and the size and digest at the end of its line.
_SIGN, _ABOUT, _TAIL = 16, 29, 23

_SIGNS = {
    "text": "▪ text",
    "thought": "▪ thought",
    "tool_call": "◆ call",
    "tool_result": "◇ result",
}
_SIGNALS = {"timeout": "a time-out", "placeholder": "a placeholder", "pending": "a placeholder"}
_PAIRED = {"id": "by id", "order": "by order", "inferred": "inferred"}
_OUTCOMES = {"awaiting-decision": "waits for a person"}
_MOST_EVENTS = 12


@dataclass(frozen=True)
class Shown:
    """A conversation as text, without a line end, and how many payloads of each source it shows."""

    text: str
    revealed: Mapping[str, int]


def render_conversation(
    case: Case,
    triage: Triage,
    conversation_id: str,
    *,
    reveal: bool = False,
    everything: bool = False,
) -> Shown:
    """The rows of a conversation, a line a part, and what triage says of it; a block a source.

    Raises UsageError if no source has the conversation.
    """
    found = [c for c in triage.conversations if c.conversation_id == conversation_id]
    if not found:
        raise UsageError(f"no source has a conversation {conversation_id[:80]!r}.")
    blocks, revealed = [], {}
    with case.reading() as session:
        for conversation in found:
            timeline = read_timeline(
                session, triage, conversation, reveal=reveal, everything=everything
            )
            block = _Block(triage, conversation, timeline, reveal, case.path)
            blocks.append("\n".join(block.lines()))
            revealed[conversation.source] = block.revealed
    return Shown("\n\n".join(blocks), revealed if reveal else {})


class _Block:
    """One conversation of one source."""

    def __init__(
        self,
        triage: Triage,
        conversation: ConversationTriage,
        timeline: Timeline,
        reveal: bool,
        case_path: Path | None,
    ) -> None:
        self._triage = triage
        self._conversation = conversation
        self._timeline = timeline
        self._reveal = reveal
        self._commands_for = Commands(triage, case_path)
        #: Payloads that were shown.
        self.revealed = 0
        key = conversation.source, conversation.conversation_id
        #: Findings that no row has taken yet, the worst first.
        self._findings = sorted(
            (f for f in triage.findings if (f.source, f.conversation_id) == key),
            key=lambda finding: SEVERITIES.index(finding.severity),
        )

    def lines(self) -> Iterator[str]:
        """All lines of the block."""
        findings = tuple(self._findings)
        yield from self._head()
        yield from self._rows()
        yield from self._server_events()
        yield from self._other_findings()
        generation = self._triage.target.generation
        for sentence in would_answer(generation, self._conversation.next):
            yield from _indented(sentence, 2)
        yield from _indented(f"Advice: {advice(self._conversation, generation, findings)}", 2)
        yield from self._commands(findings)

    def _head(self) -> Iterator[str]:
        c = self._conversation
        about = [
            *([f"{c.source}"] if len(self._triage.sources) > 1 else []),
            " and ".join(c.generations),
            f"harness {name(c.harness)}" if c.harness else "no harness named",
            count(self._timeline.total, "step"),
            c.state,
        ]
        told = ", ".join(about)
        title = cut_middle(safe(c.conversation_id), max(12, WIDTH - columns(told) - 5))
        yield f"{title}     {told}"
        if c.first_seen:
            yield f"  first seen {c.first_seen}, last seen {c.last_seen}"

    # --- the timeline --------------------------------------------------------------------------

    def _rows(self) -> Iterator[str]:
        before = turn = 0
        last_of_step = {entry.step: entry.n for entry in self._timeline.entries}
        for entry in self._timeline.entries:
            yield from _gap(entry.n - before - 1)
            label = f"turn {entry.turn}" if entry.turn != turn else ""
            yield from self._row(entry, label)
            if last_of_step[entry.step] == entry.n:
                yield from self._wounds(entry)
            before, turn = entry.n, entry.turn
        yield from _gap(self._timeline.total - before)

    def _server_events(self) -> Iterator[str]:
        """What servers' logs say, beside the rows: which row an event belongs to, no log tells."""
        events = self._timeline.server_events
        for event in events[:_MOST_EVENTS]:
            reason = f" ({safe(event['reason'])})" if event["reason"] else ""
            yield f"  server log {event['at'] or 'no time':<23}   {event['event']}{reason}"
        if len(events) > _MOST_EVENTS:
            yield f"  server log … {count(len(events) - _MOST_EVENTS, 'more event')}"

    def _row(self, entry: Entry, turn: str) -> Iterator[str]:
        """A line a part; only the first one has the step and the turn."""
        step = "?" if entry.step is None else str(entry.step)
        heads = iter([f"{step:>5}  {turn:<9}"])
        blank = " " * _SIGN
        if entry.unreadable is not None:
            about = [name(entry.unreadable, WIDTH - _ABOUT - _TAIL - 1)]
            yield from _line(next(heads), "✗ unreadable", about, entry.size, entry.digest)
            yield from self._payload(entry.raw, "its raw bytes were not kept")
        for part in entry.parts:
            sign, about = self._part(entry, part)
            yield from _line(next(heads, blank), sign, about, part["size"], entry.digest)
            if part.get("value"):
                yield from self._payload(part["value"])
        if entry.unreadable is None and entry.state not in OPEN_STATES:
            state = entry.state.removeprefix("STATE_").lower()
            yield f"{next(heads, blank)}{pad('■ end', _ABOUT - _SIGN)}{state}"
        elif entry.unreadable is None and not entry.parts:
            yield f"{next(heads, blank)}{pad('▪ nothing', _ABOUT - _SIGN)}a row without content"
        if not entry.visible:
            yield f"{blank}? AX does not find this row when it reads the conversation."

    def _part(self, entry: Entry, part: Record) -> tuple[str, list[str]]:
        """The sign of a part, and what is said of it, the most important first."""
        kind = part["kind"]
        if kind == "tool_call":
            return _SIGNS[kind], _call(
                part, self._timeline.calls.get((entry.position, part["part"]))
            )
        if kind == "tool_result":
            call = self._timeline.answered.get((entry.position, part["call_id"] or ""))
            return _SIGNS[kind], _result(part, call)
        if kind == "confirmation":
            return self._confirmation(entry, part)
        if kind == "text" and part["role"] == "user":
            return "▸ user", []
        return _SIGNS.get(kind, f"▪ {name(kind, 9)}"), []

    def _confirmation(self, entry: Entry, part: Record) -> tuple[str, list[str]]:
        question = name(part["call_id"], 24) or "(no id)"
        if part["decision"] != "asked":
            return f"▸ {name(part['decision'], 9)}", [question]
        outcome = self._timeline.questions.get((entry.position, part["call_id"] or ""), "")
        return "▪ question", [question, _OUTCOMES.get(outcome, outcome)]

    def _payload(self, payload: str | bytes | None, missing: str = "") -> Iterator[str]:
        if not self._reveal:
            return
        if payload is None:
            yield f"{'':{_SIGN}}│ {missing}"
            return
        self.revealed += 1
        text, note = shown_payload(payload)
        yield from (f"{'':{_SIGN}}│ {piece}" for piece in fold(text, WIDTH - _SIGN - 2))
        if note:
            yield f"{'':{_SIGN}}│ {note}"

    # --- what is wrong, and what to do ---------------------------------------------------------

    def _wounds(self, entry: Entry) -> Iterator[str]:
        if entry.step is None:
            return
        here = [f for f in self._findings if f.step == entry.step]
        self._findings = [f for f in self._findings if f.step != entry.step]
        for finding in here:
            yield from _finding(finding, _SIGN)

    def _other_findings(self) -> Iterator[str]:
        """What is said of no row here; and what is wrong with the whole source."""
        source = self._conversation.source
        whole = [
            f
            for f in self._triage.findings
            if f.source == source and f.conversation_id is None and f.severity == "error"
        ]
        for finding in (*self._findings, *whole):
            yield from _finding(finding, 2)

    def _commands(self, findings: Sequence[Finding]) -> Iterator[str]:
        c = self._conversation
        offered: list[Command | None] = []
        if c.action in PLANNED:
            offered.append(self._commands_for.plan(c.source, c.conversation_id))
        offered += [explain(findings[0].id)] if findings else []
        if not self._reveal:
            offered.append(self._commands_for.show(c.source, c.conversation_id, "--reveal"))
        yield from (f"  {line}" for line in next_lines(offered, WIDTH - 2))


def _call(part: Record, call: Record | None) -> list[str]:
    tool = name(part["tool"], 20) or "(no name)"
    if call is None:
        return [tool, name(part["call_id"], 24) or "(no id)"]
    outcome = f"outcome {_OUTCOMES.get(call['outcome'], call['outcome'])}"
    room = WIDTH - _ABOUT - _TAIL - 4 - columns(tool) - columns(outcome)
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


def _line(head: str, sign: str, about: Iterable[str], size: int, digest: str) -> Iterator[str]:
    """One line, with size and digest at its end; what has no room there goes into the next."""
    first = ""
    later: list[str] = []
    for word in filter(None, about):
        joined = f"{first}  {word}" if first else word
        if not later and columns(joined) <= WIDTH - _ABOUT - _TAIL - 1:
            first = joined
        else:
            later.append(word)
    told = _size(size) if size else ""
    left = f"{head}{pad(sign, _ABOUT - _SIGN - 1)} {first}"
    yield f"{pad(left, WIDTH - _TAIL)}{told:>{_TAIL - 14}}  {digest}".rstrip()
    if later:
        yield f"{'':{_ABOUT}}{'  '.join(later)}"


def _size(size: int) -> str:
    """At most nine columns up to the largest row that a store holds."""
    return f"{size:,} B" if size < 1_000_000 else f"{size / 1e6:,.1f} MB"


def _gap(rows: int) -> Iterator[str]:
    if rows > 0:
        yield f"{'':7}… {count(rows, 'row')} between (--all)"


def _finding(finding: Finding, indent: int) -> Iterator[str]:
    head = f"{SEVERITY_SIGNS[finding.severity]} {finding.id}  "
    first, *rest = wrap(safe(finding.sentence), WIDTH - indent - columns(head))
    yield f"{'':{indent}}{head}{first}"
    yield from (f"{'':{indent + columns(head)}}{line}" for line in rest)


def _indented(text: str, indent: int) -> Iterator[str]:
    return (f"{'':{indent}}{line}" for line in wrap(text, WIDTH - indent))
