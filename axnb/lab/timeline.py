"""One conversation, row by row; payloads stay hidden until a person asks, and that is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from axnb.errors import AxnbError
from axnb.lab import fragments
from axnb.lab.desk import Desk, Key
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.report.groups import about_snapshot
from axnb.report.lines import (
    Gap,
    Hidden,
    Line,
    More,
    Placed,
    findings_of,
    laid_out,
    left_out,
    lines,
    told_events,
)
from axnb.report.reveal import record, shown_payload
from axnb.report.timeline import MOST_ROWS, Timeline, read_timeline
from axnb.report.words import SEVERITY_SIGNS, advice, name, would_answer
from axnb.result import Finding
from axnb.text import count, cut_middle, safe
from axnb.triaging import ConversationTriage

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_FRAME = ("step", "turn", "part", "about", "bytes", "digest", "row", "n")

#: Rows that are shown where all are asked for: a browser bears no million of them.
_ALL_ROWS = 2_000

#: Lines of one row and findings about one step; lines of all; findings about no step.
_MOST_OF_ROW, _MOST_LINES, _MOST_LEFT = 20, 4_000, 20


class TimelineView(View):
    """The chosen conversation; without a person, the most urgent one."""

    _desk: Desk

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._read: tuple[Key, int, Timeline] | None = None
        self._most = MOST_ROWS
        desk.on_case(self._forget)

    def _forget(self) -> None:
        self._read = None

    @property
    def _chosen(self) -> ConversationTriage | None:
        key = self._desk.chosen
        return None if key is None else self._desk.conversations[key]

    def _timeline(self, chosen: ConversationTriage) -> Timeline:
        """Read once for each conversation that is chosen."""
        key = chosen.source, chosen.conversation_id
        if self._read is None or self._read[:2] != (key, self._most):
            with self._desk.case.reading() as session:
                found = read_timeline(session, self._desk.triage, chosen, most=self._most)
            self._read = key, self._most, found
        return self._read[2]

    @property
    def frame(self) -> pandas.DataFrame:
        """The lines of the chosen conversation, without payloads."""
        chosen = self._chosen
        return frame_of(() if chosen is None else self._records(chosen), _FRAME)

    def _records(self, chosen: ConversationTriage) -> Iterator[dict[str, Any]]:
        timeline = self._timeline(chosen)
        for entry in timeline.entries:
            for line in lines(timeline, entry):
                yield {
                    "step": entry.step,
                    "turn": entry.turn,
                    "part": line.sign,
                    "about": _about(line),
                    "bytes": line.size or None,
                    "digest": line.digest,
                    "row": entry.row,
                    "n": line.part,
                }

    def pieces(self) -> list[str]:
        """The timeline, what is wrong, and what to do."""
        chosen = self._chosen
        if chosen is None:
            return [fragments.sentence("The case holds no conversation.")]
        timeline = self._timeline(chosen)
        found = findings_of(self._desk.triage, chosen)
        generation = self._desk.triage.target.generation
        told = [*would_answer(generation, chosen.next)]
        told.append(f"Advice: {advice(chosen, generation, found)}")
        about = self._about(chosen, timeline)
        shown = _shown(timeline, found)
        remarks = [*_remarks(timeline, found)]
        title = chosen.conversation_id or "(empty)"
        return [fragments.timeline(title, about, shown, remarks, told)]

    def _about(self, c: ConversationTriage, timeline: Timeline) -> str:
        owner = f"harness {name(c.harness)}" if c.harness else "no harness named"
        told = [c.source, " and ".join(c.generations), owner]
        told += [count(timeline.total, "step"), c.state]
        if c.first_seen:
            told.append(f"first seen {c.first_seen}, last seen {c.last_seen}")
        return ", ".join(filter(None, [*told, about_snapshot(c)]))

    # --- with a person -------------------------------------------------------------------------

    def widget(self) -> DOMWidget:
        """A list to choose the conversation from, its timeline, and a viewer for one payload."""
        from axnb.lab import controls
        from axnb.lab.payload import PayloadViewer
        from axnb.lab.picker import Picker

        table = controls.html()
        said = partial(controls.callback, self._desk.lock, table)
        picker = Picker(self._desk, "Conversation", table, lambda: choose())
        every = controls.choice("Rows", [("its ends and wounds", MOST_ROWS), ("all", _ALL_ROWS)])
        viewer = PayloadViewer(self._desk.lock, self.reveal)

        def choose() -> None:
            if picker.value is not None:
                self._desk.choose(picker.value)
            picker.follow(self._desk.chosen)

        def show() -> None:
            viewer.offer([])
            picker.follow(self._desk.chosen)
            table.value = fragments.page(*self.pieces())
            chosen = self._chosen
            viewer.offer([] if chosen is None else list(self._records(chosen)))

        def resize(change: Any) -> None:
            self._most = change.new
            show()

        def again() -> None:
            self._forget()
            show()

        self._refresh = said(again)
        every.observe(said(resize), "value")
        self._desk.on_case(self._refresh)
        self._desk.on_choice(said(show))
        self._refresh()
        return controls.column(controls.row(*picker.controls, every), table, viewer.box)

    def reveal(self, row: int, part: int) -> tuple[str, str]:
        """A payload as text, and a remark on it; on record before it is returned.

        Raises CaseError if the case cannot record it: then nothing is shown.
        """
        chosen = self._chosen
        if chosen is None:
            raise AxnbError("no conversation is chosen.")
        payload = self._payload(chosen, row, part)
        if not payload:
            kept = "its raw bytes were not kept" if part == 0 else "it is empty"
            return "", f"Nothing is revealed: {kept}."
        recorded = record(self._desk.case, chosen.conversation_id, {chosen.source: 1})
        text, cut = shown_payload(payload)
        return text, ". ".join(filter(None, [cut, recorded or "The case has recorded it."]))

    def _payload(self, c: ConversationTriage, row: int, part: int) -> str | bytes | None:
        from axnb.case.case import ask

        key = {"source": c.source, "id": c.conversation_id, "rows": [row]}
        with self._desk.case.reading() as session:
            found = ask(session, "conversation_values", key)
        values = [v["raw"] if part == 0 else v["value"] for v in found if v["part"] == part]
        return values[0] if values else None


def _about(line: Line) -> str:
    return "  ".join(filter(None, line.about))


def _shown(timeline: Timeline, findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The lines of the table."""
    items = laid_out(timeline, findings, _MOST_OF_ROW)
    shown = [_line(item) for item in islice(items, _MOST_LINES)]
    if next(items, None) is not None:
        shown.append({"told": "… the rest is not shown; the rows of the log below have all"})
    return shown


def _line(item: Placed | Gap | More | Hidden | Finding) -> dict[str, Any]:
    if isinstance(item, Finding):
        return {"wound": item, "sign": SEVERITY_SIGNS[item.severity]}
    if isinstance(item, Gap):
        return {"told": f"… {count(item.rows, 'row')} between"}
    if isinstance(item, More):
        return {"told": f"… {count(item.count, f'more {item.noun}')}"}
    if isinstance(item, Hidden):
        about = "AX does not find this row when it reads the conversation."
        return {"sign": "? hidden", "about": about}
    line = item.line
    return {
        "step": item.step,
        "turn": item.turn,
        "sign": line.sign,
        "about": _about(line),
        "size": f"{line.size:,}" if line.size else "",
        "digest": line.digest,
    }


def _remarks(timeline: Timeline, findings: Iterable[Finding]) -> Iterator[dict[str, str]]:
    """What is said of no row that is shown."""
    for told in told_events(timeline):
        yield {"severity": "dim", "text": told}
    left = left_out(timeline, findings)
    for f in left[:_MOST_LEFT]:
        text = f"{SEVERITY_SIGNS[f.severity]} {f.id}  {f.sentence}"
        yield {"severity": f.severity, "text": text}
    if len(left) > _MOST_LEFT:
        more = count(len(left) - _MOST_LEFT, "more finding")
        yield {"severity": "dim", "text": f"… {more}; the table of findings has them."}


def part_label(record: dict[str, Any]) -> str:
    """A part in a list to choose from: `step 2  ◆ call  charge_card order-4`."""
    step = "?" if record["step"] is None else record["step"]
    return cut_middle(safe(f"step {step}  {record['part']}  {record['about']}").rstrip(), 80)
