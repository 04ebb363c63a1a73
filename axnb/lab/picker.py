"""A field to search and a list to choose a conversation from: fast whatever the log holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from axnb.lab import controls
from axnb.lab.desk import CaseDesk, Key

if TYPE_CHECKING:
    from ipywidgets import HTML, Widget

_NOBODY = ("–", ("", ""))


class Picker:
    """Offers the first conversations whose id holds a text, the most urgent first.

    `pick` is called when a person chooses; what goes wrong is said in `place`.
    """

    def __init__(self, desk: CaseDesk, label: str, place: HTML, pick: Callable[[], None]) -> None:
        self._desk, self._pick = desk, pick
        self._shown: Key | None = None
        self._is_offering = False
        self._search = controls.text("Find id", hint="a part of an id", width="14rem")
        self._list = controls.choice(label, [_NOBODY])
        said = partial(controls.callback, desk.lock, place)
        self._search.observe(said(lambda _: self._offer()), "value")
        self._list.observe(said(lambda change: self._picked(change.new)), "value")
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
        self._shown = shown
        # New options choose the first of them, which is nobody's choice.
        self._is_offering = True
        try:
            self._list.options = controls.choices(map(self._desk.label, keys), keys, _NOBODY)
            self._list.value = _NOBODY[1] if shown is None else shown
        finally:
            self._is_offering = False

    def _picked(self, key: Key) -> None:
        if not self._is_offering:
            self._shown = None if key == _NOBODY[1] else key
            self._pick()
