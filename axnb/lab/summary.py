"""The verdict, and how far it reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axnb.lab import fragments
from axnb.lab.desk import Desk
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.result import SIGNS

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget


class SummaryView(View):
    """The verdict with its reasons."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk

    @property
    def frame(self) -> pandas.DataFrame:
        """How many conversations need what, a row an action."""
        return frame_of(self._desk.result.actions, ("action", "count", "reason"))

    def pieces(self) -> list[str]:
        """The verdict as HTML."""
        return [fragments.verdict(self._desk.result)]

    def text(self) -> str:
        """The verdict as plain text."""
        result = self._desk.result
        reasons = "\n".join(f"- {sentence}" for sentence in result.why)
        return f"{SIGNS[result.verdict]} {result.verdict}\n{reasons}"

    def widget(self) -> DOMWidget:
        """The verdict, which follows what is chosen."""
        from axnb.lab import controls

        shown = controls.html(*self.pieces())
        self._desk.on_case(lambda: setattr(shown, "value", fragments.page(*self.pieces())))
        return shown
