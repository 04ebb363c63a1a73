"""Controls that several views have: labelled fields in a row, and a pager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any

import ipywidgets as widgets

from axnb.lab import fragments
from axnb.report.view import brief
from axnb.text import cut_middle

#: Rows of one page, and choices that a list offers at once.
PAGE = 25
MOST_CHOICES = 50

#: Columns of a label in a list.
_LABEL = 80

#: A label is as wide as its words.
FIELD = {"description_width": "initial"}


def text(label: str, value: str = "", hint: str = "", width: str = "18rem") -> widgets.Text:
    """A labelled field for a text; it tells of a change when the person has finished."""
    layout = widgets.Layout(width=width)
    return widgets.Text(
        value,
        description=label,
        placeholder=hint,
        continuous_update=False,
        layout=layout,
        style=FIELD,
    )


def choice(
    label: str, options: Sequence[tuple[str, Any]], value: Any = None, width: str = "auto"
) -> widgets.Dropdown:
    """A labelled list to choose from."""
    first = options[0][1] if value is None and options else value
    layout = widgets.Layout(width=width)
    return widgets.Dropdown(
        options=options, value=first, description=label, layout=layout, style=FIELD
    )


def button(label: str, hint: str = "") -> widgets.Button:
    """A button."""
    return widgets.Button(
        description=label, tooltip=hint or label, layout=widgets.Layout(width="auto")
    )


def row(*controls: widgets.Widget) -> widgets.HBox:
    """Controls in one row above what they change; a narrow page wraps it."""
    layout = widgets.Layout(flex_flow="row wrap", grid_gap="4px 16px", align_items="center")
    return widgets.HBox(controls, layout=layout)


def column(*parts: widgets.Widget) -> widgets.VBox:
    """Parts of a view below each other."""
    return widgets.VBox(parts)


def html(*pieces: str) -> widgets.HTML:
    """A part of a view that is only looked at."""
    return widgets.HTML(fragments.page(*pieces))


def callback(lock: RLock, place: widgets.HTML, act: Callable[..., Any]) -> Callable[..., None]:
    """`act` for a widget to call, one at a time; what it raises is said in `place`.

    An error that escapes into a widget is seen by nobody: JupyterLab writes it into a log.
    """

    def call(*given: Any) -> None:
        with lock:
            try:
                act(*given)
            except Exception as err:
                place.value = fragments.page(fragments.failure(err))

    return call


def choices(
    texts: Iterable[str], keys: Iterable[Any], nobody: tuple[str, Any]
) -> list[tuple[str, Any]]:
    """Strangers' texts as labels of a list: each different, escaped, and of bounded length.

    `nobody` is the first of them.
    """
    found = [nobody]
    taken = Counter([nobody[0]])
    for shown, key in zip(texts, keys, strict=True):
        label = plain = brief(shown, _LABEL) or "(empty)"
        while taken[label]:
            taken[plain] += 1
            label = f"{cut_middle(plain, _LABEL - 8)} ({taken[plain]:,})"
        taken[label] += 1
        found.append((label, key))
    return found


class Pager:
    """Previous and next, and which rows are shown."""

    def __init__(self, lock: RLock, place: widgets.HTML, turn: Callable[[], None]) -> None:
        self.first = 0
        self._turn = turn
        self._previous = button("‹ Previous", "The page before this one")
        self._next = button("Next ›", "The next page")
        self._where = widgets.HTML()
        self._previous.on_click(callback(lock, place, lambda _: self._go(-PAGE)))
        self._next.on_click(callback(lock, place, lambda _: self._go(PAGE)))
        self.row = row(self._previous, self._next, self._where)

    def show(
        self, shown: int, total: int, noun: str, *, is_all: bool = True, more: bool | None = None
    ) -> None:
        """Say which rows are shown, of `total` or, unless that `is_all`, of more.

        `more` says whether others follow where the total does not.
        """
        last = self.first + shown
        told = f"{self.first + 1:,}–{last:,} of {'' if is_all else 'more than '}{total:,} {noun}"
        self._say(told if shown else f"no {noun}")
        self._previous.disabled = self.first == 0
        self._next.disabled = not (last < total if more is None else more)

    def reset(self) -> None:
        """Begin at the first row again; until it is shown there is nowhere to go."""
        self.first = 0
        self._say("")
        self._previous.disabled = self._next.disabled = True

    def _say(self, told: str) -> None:
        self._where.value = fragments.page(fragments.status(told))

    def _go(self, rows: int) -> None:
        before = self.first
        self.first = max(0, before + rows)
        try:
            self._turn()
        except BaseException:
            self.first = before
            raise
