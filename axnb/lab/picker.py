"""A field to search and a list to choose a conversation from: fast whatever the log holds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from axnb.lab import controls
from axnb.lab.desk import Desk, Key

if TYPE_CHECKING:
    from ipywidgets import Widget

_NOBODY = ("–", ("", ""))


class Picker:
    """Offers the first conversations whose id holds a text, the most urgent first."""

    def __init__(self, desk: Desk, label: str, pick: Callable[[Key], Any]) -> None:
        self._desk, self._pick = desk, pick
        self._shown: Key | None = None
        self._search = controls.text("Find id", hint="a part of an id", width="14rem")
        self._list = controls.choice(label, [_NOBODY])
        self._search.observe(lambda _: self._offer(), "value")
        self._list.observe(lambda change: self._picked(change.new), "value")
        self.controls: tuple[Widget, ...] = (self._search, self._list)

    def follow(self, key: Key | None) -> None:
        """Show what is chosen, wherever it was chosen."""
        self._shown = key
        self._offer()

    @property
    def value(self) -> Key | None:
        """What is chosen here."""
        return self._shown

    def _offer(self) -> None:
        within = self._search.value
        fitting = (key for key in self._desk.conversations if within in key[1])
        keys = list(islice(fitting, controls.MOST_CHOICES))
        shown = self._shown if self._shown in self._desk.conversations else None
        if shown is not None and shown not in keys:
            keys.insert(0, shown)
        several = len(self._desk.triage.sources) > 1
        labels = [f"{key[1]} ({key[0]})" if several else key[1] for key in keys]
        # New options choose the first of them, which is nobody's choice.
        self._list.options = [_NOBODY, *controls.choices(labels, keys)]
        self._shown = shown
        self._list.value = _NOBODY[1] if shown is None else shown

    def _picked(self, key: Key) -> None:
        if key == _NOBODY[1] or key == self._shown:
            return
        self._shown = key
        self._pick(key)
