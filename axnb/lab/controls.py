"""Controls that several views have: labelled fields in a row, and a pager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from axnb.lab import fragments
from axnb.text import cut_middle, safe

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Rows of one page, and choices that a list offers at once.
PAGE = 25
MOST_CHOICES = 50

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


def choices(texts: Iterable[str], keys: Iterable[Any]) -> list[tuple[str, Any]]:
    """Strangers' texts as labels of a list: each different, escaped, and of bounded length."""
    found: list[tuple[str, Any]] = []
    taken: set[str] = set()
    for shown, key in zip(texts, keys, strict=True):
        label = cut_middle(safe(shown), 80) or "(empty)"
        n = 1
        while label in taken:
            n += 1
            label = f"{cut_middle(safe(shown), 76)} ({n})"
        taken.add(label)
        found.append((label, key))
    return found


class Pager:
    """Previous and next, and which rows are shown."""

    def __init__(self, turn: Callable[[], None]) -> None:
        self.first = 0
        self._turn = turn
        self._previous = button("‹ Previous", "The page before this one")
        self._next = button("Next ›", "The next page")
        self._where = widgets.HTML()
        self._previous.on_click(lambda _: self._go(-PAGE))
        self._next.on_click(lambda _: self._go(PAGE))
        self.row = row(self._previous, self._next, self._where)

    def show(self, total: int, *, is_all: bool = True, noun: str = "rows") -> None:
        """Say where we are among `total` rows; `is_all`: there are no more than that."""
        last = min(self.first + PAGE, total)
        told = f"{self.first + 1:,}–{last:,} of {'' if is_all else 'more than '}{total:,} {noun}"
        self._where.value = fragments.page(
            fragments.sentence(told if total else f"no {noun}", "dim")
        )
        self._previous.disabled = self.first == 0
        self._next.disabled = is_all and last >= total

    def reset(self) -> None:
        """Begin at the first row again."""
        self.first = 0

    def _go(self, rows: int) -> None:
        self.first = max(0, self.first + rows)
        self._turn()
