"""A viewer for one payload: its kind, size and digest, and the text only if a person asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from axnb.errors import AxnbError
from axnb.lab import controls, fragments

#: Reveals the payload of a row and part: its text, and a remark.
Reveal = Callable[[int, int], tuple[str, str]]

_MOST = 500


class PayloadViewer:
    """A list of parts, a button that reveals one, and the place where it is shown."""

    def __init__(self, reveal: Reveal) -> None:
        self._reveal = reveal
        self._records: Sequence[dict[str, Any]] = ()
        self._part = controls.choice("Payload", [("–", -1)])
        self._button = controls.button("Reveal", "Show this payload; the reveal is recorded")
        self._shown = controls.html()
        self._part.observe(lambda _: self._describe(), "value")
        self._button.on_click(lambda _: self._show())
        self.box = controls.column(controls.row(self._part, self._button), self._shown)

    def offer(self, records: Sequence[dict[str, Any]]) -> None:
        """Offer the parts of a timeline that have a payload."""
        from axnb.lab.timeline import part_label

        self._records = [record for record in records if record["n"] is not None][:_MOST]
        labels = controls.choices(map(part_label, self._records), range(len(self._records)))
        self._part.options = [("–", -1), *labels]
        self._part.value = -1
        self._describe()

    def _describe(self) -> None:
        """What is known of the part without its text."""
        self._button.disabled = self._part.value == -1
        if self._part.value == -1:
            none = "Choose a part to see what is known of it." if self._records else "No payload."
            self._shown.value = fragments.page(fragments.sentence(none, "dim"))
            return
        self._shown.value = fragments.page(fragments.payload(self._about(), None))

    def _about(self) -> str:
        record = self._records[self._part.value]
        size = f"{record['bytes'] or 0:,} bytes"
        return f"{record['part']}, {size}, keyed digest {record['digest'] or '–'}"

    def _show(self) -> None:
        record = self._records[self._part.value]
        try:
            text, note = self._reveal(record["row"], record["n"])
        except AxnbError as err:
            self._shown.value = fragments.page(fragments.sentence(f"✗ {err}", "failed"))
            return
        self._shown.value = fragments.page(fragments.payload(self._about(), text, note))
