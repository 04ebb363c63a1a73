"""A view: what a cell shows, as HTML and text for everybody and as widgets for a person."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from axnb.lab import fragments
from axnb.lab.kernel import has_person, has_widgets

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_NO_WIDGETS = "Widgets need ipywidgets: install axnb[lab]."


class View(ABC):
    """What a cell shows. The answer is the same with and without a person."""

    def __init__(self) -> None:
        self._built: DOMWidget | None = None

    @property
    @abstractmethod
    def frame(self) -> pandas.DataFrame:
        """The table behind the view, as it was filtered last."""

    @abstractmethod
    def pieces(self) -> list[str]:
        """The view as pieces of HTML, without a person."""

    def widget(self) -> DOMWidget | None:
        """The view as a widget; None if it has nothing to choose."""
        return None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What Jupyter shows: a widget if a person is there, else HTML; both with plain text."""
        pieces = self.pieces()
        if has_person():
            if not has_widgets():
                pieces.append(fragments.sentence(_NO_WIDGETS, "dim"))
            else:
                self._built = self._built or self.widget()
                if self._built is not None:
                    bundle: dict[str, Any] = self._built._repr_mimebundle_()
                    return bundle
        return {"text/plain": self.text(), "text/html": fragments.page(*pieces)}

    def text(self) -> str:
        """The view as plain text, for who sees no HTML."""
        from axnb.lab.frames import plain

        return plain(self.frame)
