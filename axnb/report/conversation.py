"""One conversation on a terminal: its turns and parts, redacted unless a person asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from axnb.case.case import Case
from axnb.errors import UsageError
from axnb.report.commands import PLANNED, Command, Commands, explain, next_lines
from axnb.report.groups import about_snapshot
from axnb.report.lines import (
    ABOUT,
    Gap,
    Hidden,
    Line,
    Placed,
    findings_of,
    laid_out,
    left_out,
    told_events,
)
from axnb.report.reveal import shown_payload
from axnb.report.timeline import Timeline, read_timeline
from axnb.report.words import SEVERITY_SIGNS, advice, name, would_answer
from axnb.result import Finding
from axnb.text import columns, count, cut_middle, fold, pad, safe, wrap
from axnb.triaging import ConversationTriage, Triage

WIDTH = 100

#: Where the signs stand, what is said of a part, and the size and digest at the end of its line.
_SIGN, _ABOUT = 16, 29
_TAIL = WIDTH - _ABOUT - ABOUT


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
        self._findings = findings_of(triage, conversation)

    def lines(self) -> Iterator[str]:
        """All lines of the block."""
        yield from self._head()
        yield from self._rows()
        yield from (f"  {told}" for told in told_events(self._timeline))
        yield from self._other_findings()
        generation = self._triage.target.generation
        for sentence in would_answer(generation, self._conversation.next):
            yield from _indented(sentence, 2)
        yield from _indented(f"Advice: {advice(self._conversation, generation, self._findings)}", 2)
        yield from self._commands()

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
        if (held := about_snapshot(c)) is not None:
            yield from _indented(held, 2)

    # --- the timeline --------------------------------------------------------------------------

    def _rows(self) -> Iterator[str]:
        blank = " " * _SIGN
        for item in laid_out(self._timeline, self._findings):
            if isinstance(item, Placed):
                yield from self._line(item)
            elif isinstance(item, Gap):
                yield f"{'':7}… {count(item.rows, 'row')} between (--all)"
            elif isinstance(item, Hidden):
                yield f"{blank}? AX does not find this row when it reads the conversation."
            elif isinstance(item, Finding):
                yield from _finding(item, _SIGN)

    def _line(self, placed: Placed) -> Iterator[str]:
        head = f"{placed.step:>5}  {placed.turn:<9}" if placed.step else " " * _SIGN
        line = placed.line
        yield from _line(head, line)
        if line.payload is not None:
            yield from self._payload(line.payload)
        elif line.part == 0:
            yield from self._payload(None, "its raw bytes were not kept")

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

    def _other_findings(self) -> Iterator[str]:
        """What is said of no row here; and what is wrong with the whole source."""
        source = self._conversation.source
        whole = [
            f
            for f in self._triage.findings
            if f.source == source and f.conversation_id is None and f.severity == "error"
        ]
        for finding in (*left_out(self._timeline, self._findings), *whole):
            yield from _finding(finding, 2)

    def _commands(self) -> Iterator[str]:
        c = self._conversation
        offered: list[Command | None] = []
        if c.action in PLANNED:
            offered.append(self._commands_for.plan(c.source, c.conversation_id))
        offered += [explain(self._findings[0].id)] if self._findings else []
        if not self._reveal:
            offered.append(self._commands_for.show(c.source, c.conversation_id, "--reveal"))
        yield from (f"  {line}" for line in next_lines(offered, WIDTH - 2))


def _line(head: str, line: Line) -> Iterator[str]:
    """One line, with size and digest at its end; what has no room there goes into the next."""
    first = ""
    later: list[str] = []
    for word in filter(None, line.about):
        joined = f"{first}  {word}" if first else word
        if not later and columns(joined) <= ABOUT - 1:
            first = joined
        else:
            later.append(word)
    told = _size(line.size) if line.size else ""
    left = f"{head}{pad(line.sign, _ABOUT - _SIGN - 1)} {first}"
    yield f"{pad(left, WIDTH - _TAIL)}{told:>{_TAIL - 14}}  {line.digest}".rstrip()
    if later:
        yield f"{'':{_ABOUT}}{'  '.join(later)}"


def _size(size: int) -> str:
    """At most nine columns up to the largest row that a store holds."""
    return f"{size:,} B" if size < 1_000_000 else f"{size / 1e6:,.1f} MB"


def _finding(finding: Finding, indent: int) -> Iterator[str]:
    head = f"{SEVERITY_SIGNS[finding.severity]} {finding.id}  "
    first, *rest = wrap(safe(finding.sentence), WIDTH - indent - columns(head))
    yield f"{'':{indent}}{head}{first}"
    yield from (f"{'':{indent + columns(head)}}{line}" for line in rest)


def _indented(text: str, indent: int) -> Iterator[str]:
    return (f"{'':{indent}}{line}" for line in wrap(text, WIDTH - indent))
