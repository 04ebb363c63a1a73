"""A viewer for one payload: its kind, size and digest, and the text only if a person asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock
from typing import Any

from axnb.lab import controls, fragments
from axnb.text import count

#: Reveals the payload of a row and part: its text, and a remark.
Reveal = Callable[[int, int], tuple[str, str]]

#: Parts that are offered: of more, those at the beginning and, where a turn breaks off, at the end.
_MOST, _HEAD = 500, 100

_NOBODY = ("–", -1)


class PayloadViewer:
    """A list of parts, a button that reveals one, and the place where it is shown."""

    def __init__(self, lock: RLock, reveal: Reveal) -> None:
        self._reveal = reveal
        self._records: Sequence[dict[str, Any]] = ()
        self._left = 0
        self._part = controls.choice("Payload", [_NOBODY])
        self._button = controls.button("Reveal", "Show this payload; the reveal is recorded")
        self._shown = controls.html()
        said = partial(controls.callback, lock, self._shown)
        self._part.observe(said(lambda _: self._describe()), "value")
        self._button.on_click(said(lambda _: self._show()))
        self.box = controls.column(controls.row(self._part, self._button), self._shown)

    def offer(self, records: Sequence[dict[str, Any]]) -> None:
        """Offer the parts of a timeline that have a payload."""
        from axnb.lab.timeline import part_label

        found = [record for record in records if record["n"] is not None]
        self._left = max(0, len(found) - _MOST)
        self._records = found if not self._left else found[:_HEAD] + found[_HEAD - _MOST :]
        labels = map(part_label, self._records)
        self._part.options = controls.choices(labels, range(len(self._records)), _NOBODY)
        self._part.value = _NOBODY[1]
        self._describe()

    def _describe(self) -> None:
        """What is known of the part without its text."""
        self._button.disabled = self._part.value == _NOBODY[1]
        if self._button.disabled:
            told = "Choose a part to see what is known of it." if self._records else "No payload."
            if self._left:
                told += f" {count(self._left, 'part')} between the ends cannot be chosen here."
            self._shown.value = fragments.page(fragments.status(told))
            return
        self._shown.value = fragments.page(fragments.payload(self._about(), None))

    def _about(self) -> str:
        record = self._records[self._part.value]
        size = f"{record['bytes'] or 0:,} bytes"
        return f"{record['part']}, {size}, keyed digest {record['digest'] or '–'}"

    def _show(self) -> None:
        if self._part.value == _NOBODY[1]:
            return
        record = self._records[self._part.value]
        text, note = self._reveal(record["row"], record["n"])
        self._shown.value = fragments.page(fragments.payload(self._about(), text, note))
