"""The verdict, and how far it reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axnb.lab import fragments
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.report.view import MOST_SENTENCES, brief
from axnb.result import SIGNS

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget


class SummaryView(View):
    """The verdict with its reasons."""

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
        reasons = "\n".join(f"- {brief(sentence, 400)}" for sentence in result.why[:MOST_SENTENCES])
        return f"{SIGNS[result.verdict]} {result.verdict}\n{reasons}"

    def widget(self) -> DOMWidget:
        """The verdict, which follows what is chosen."""
        from axnb.lab import controls

        shown = controls.html()

        def show() -> None:
            shown.value = fragments.page(*self.pieces())

        self._refresh = controls.callback(self._desk.lock, shown, show)
        self._desk.on_case(self._refresh)
        self._refresh()
        return shown
