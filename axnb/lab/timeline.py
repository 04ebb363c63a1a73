"""One conversation, row by row; payloads stay hidden until a person asks, and that is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from axnb.errors import AxnbError
from axnb.lab import fragments
from axnb.lab.desk import Desk, Key
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.report.lines import Line, lines
from axnb.report.reveal import record, shown_payload
from axnb.report.timeline import Timeline, read_timeline
from axnb.report.words import SEVERITIES, SEVERITY_SIGNS, advice, name, would_answer
from axnb.result import Finding
from axnb.text import count, cut_middle, safe
from axnb.triaging import ConversationTriage

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_FRAME = ("step", "turn", "part", "about", "bytes", "digest", "row", "n")


class TimelineView(View):
    """The chosen conversation; without a person, the most urgent one."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._read: tuple[Key, Timeline] | None = None
        self._everything = False

    @property
    def _chosen(self) -> ConversationTriage | None:
        key = self._desk.chosen
        return None if key is None else self._desk.conversations[key]

    def _timeline(self, chosen: ConversationTriage) -> Timeline:
        """Read once for each conversation that is chosen."""
        key = chosen.source, chosen.conversation_id
        if self._read is None or self._read[0] != key:
            with self._desk.case.reading() as session:
                found = read_timeline(
                    session, self._desk.triage, chosen, everything=self._everything
                )
            self._read = key, found
        return self._read[1]

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
        found = self._findings(chosen)
        generation = self._desk.triage.target.generation
        told = [*would_answer(generation, chosen.next)]
        told.append(f"Advice: {advice(chosen, generation, found)}")
        shown, left = _lines(timeline, found)
        remarks = [
            {
                "severity": f.severity,
                "text": f"{SEVERITY_SIGNS[f.severity]} {f.id}  {safe(f.sentence)}",
            }
            for f in left
        ]
        about = self._about(chosen, timeline)
        return [fragments.timeline(chosen.conversation_id, about, shown, remarks, told)]

    def _about(self, c: ConversationTriage, timeline: Timeline) -> str:
        owner = f"harness {name(c.harness)}" if c.harness else "no harness named"
        told = [c.source, " and ".join(c.generations), owner]
        told += [count(timeline.total, "step"), c.state]
        if c.first_seen:
            told.append(f"first seen {c.first_seen}, last seen {c.last_seen}")
        return ", ".join(filter(None, told))

    def _findings(self, c: ConversationTriage) -> list[Finding]:
        key = c.source, c.conversation_id
        found = [f for f in self._desk.triage.findings if (f.source, f.conversation_id) == key]
        return sorted(found, key=lambda f: SEVERITIES.index(f.severity))

    # --- with a person -------------------------------------------------------------------------

    def widget(self) -> DOMWidget:
        """A list to choose the conversation from, its timeline, and a viewer for one payload."""
        from axnb.lab import controls
        from axnb.lab.payload import PayloadViewer
        from axnb.lab.picker import Picker

        picker = Picker(self._desk, "Conversation", lambda key: self._desk.choose(key))
        every = controls.choice("Rows", [("its ends and wounds", False), ("all", True)], False)
        table = controls.html()
        viewer = PayloadViewer(self.reveal)

        def show() -> None:
            table.value = fragments.page(*self.pieces())
            chosen = self._chosen
            viewer.offer([] if chosen is None else list(self._records(chosen)))
            picker.follow(self._desk.chosen)

        def resize(change: Any) -> None:
            self._everything, self._read = change.new, None
            show()

        def changed() -> None:
            self._read = None
            show()

        every.observe(resize, "value")
        self._desk.on_choice(changed)
        show()
        return controls.column(controls.row(*picker.controls, every), table, viewer.box)

    def reveal(self, row: int, part: int) -> tuple[str, str]:
        """A payload as text, and a remark on it; on record before it is returned.

        Raises CaseError if the case cannot record it: then nothing is shown.
        """
        chosen = self._chosen
        if chosen is None:
            raise AxnbError("no conversation is chosen.")
        payload = self._payload(chosen, row, part)
        recorded = record(self._desk.case, chosen.conversation_id, {chosen.source: 1})
        if payload is None:
            return "", "its raw bytes were not kept."
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


def _lines(
    timeline: Timeline, findings: list[Finding]
) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The lines of the table with findings below their step, and the findings of no step."""
    shown: list[dict[str, Any]] = []
    left = list(findings)
    before = turn = 0
    last_of_step = {entry.step: entry.n for entry in timeline.entries}
    for entry in timeline.entries:
        if entry.n > before + 1:
            shown.append({"gap": entry.n - before - 1})
        for n, line in enumerate(lines(timeline, entry)):
            shown.append(
                {
                    "step": ("?" if entry.step is None else entry.step) if n == 0 else "",
                    "turn": f"turn {entry.turn}" if n == 0 and entry.turn != turn else "",
                    "sign": line.sign,
                    "about": _about(line),
                    "size": f"{line.size:,}" if line.size else "",
                    "digest": line.digest,
                }
            )
        if not entry.visible:
            hidden = "AX does not find this row when it reads the conversation."
            shown.append({"sign": "? hidden", "about": hidden})
        if entry.step is not None and last_of_step[entry.step] == entry.n:
            here = [f for f in left if f.step == entry.step]
            left = [f for f in left if f.step != entry.step]
            shown += [{"wound": f, "sign": SEVERITY_SIGNS[f.severity]} for f in here]
        before, turn = entry.n, entry.turn
    if timeline.total > before:
        shown.append({"gap": timeline.total - before})
    return shown, left


def part_label(record: dict[str, Any]) -> str:
    """A part in a list to choose from: `step 2  ◆ call  charge_card order-4`."""
    step = "?" if record["step"] is None else record["step"]
    return cut_middle(f"step {step}  {record['part']}  {record['about']}".rstrip(), 80)
