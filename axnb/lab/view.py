"""A view: what a cell shows, as HTML and text for everybody and as widgets for a person."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from axnb.lab import fragments
from axnb.lab.desk import ResultDesk
from axnb.lab.kernel import has_person, has_widgets

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_NO_WIDGETS = "Widgets need ipywidgets: install axnb[lab]."


class View(ABC):
    """What a cell shows. The answer is the same with and without a person."""

    def __init__(self, desk: ResultDesk) -> None:
        self._desk = desk
        self._built: DOMWidget | None = None
        #: Shows the widget anew: its cell was run again.
        self._refresh: Callable[[], None] = lambda: None

    @property
    @abstractmethod
    def frame(self) -> pandas.DataFrame:
        """The table behind the view, as it was filtered last."""

    @abstractmethod
    def pieces(self) -> list[str]:
        """The view as pieces of HTML, without a person."""

    @abstractmethod
    def widget(self) -> DOMWidget:
        """The view as a widget."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What Jupyter shows: a widget if a person is there; and for everybody HTML and text, which
        is all that a saved notebook has."""
        with self._desk.lock:
            pieces = self.pieces()
            bundle = {"text/plain": self.text()}
            if has_person():
                if not has_widgets():
                    pieces.append(fragments.sentence(_NO_WIDGETS, "dim"))
                else:
                    bundle = {**self._widget()._repr_mimebundle_(), **bundle}
            return {**bundle, "text/html": fragments.page(*pieces)}

    def _widget(self) -> DOMWidget:
        if self._built is None:
            self._built = self.widget()
        else:
            self._refresh()
        return self._built

    def text(self) -> str:
        """The view as plain text, for who sees no HTML."""
        from axnb.lab.frames import plain

        return plain(self.frame)
