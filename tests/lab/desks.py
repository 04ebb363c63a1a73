"""Opened logs, and ways to look at a view and to use it as a person does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from axnb.lab.desk import Desk
from axnb.lab.view import View
from axnb.notebook.workspace import TriageWorkspace, open_triage
from axnb.testing.logs import LogBuilder
from axnb.text import is_hidden

VIEWS = ("choice", "summary", "conversations", "timeline", "findings", "tables")


def opened(folder: Path, *logs: LogBuilder, **chosen: Any) -> TriageWorkspace:
    """A workspace over logs, the first of which is the source."""
    paths = [
        str(log.write_sqlite(folder / f"log{n}.sqlite", keyed=False, typed=False))
        for n, log in enumerate(logs)
    ]
    return open_triage(paths[0], beside=paths[1:], **chosen)


def desk_of(work: TriageWorkspace) -> Desk:
    """What the views of a workspace share."""
    return work.choice()._desk


def views(work: TriageWorkspace) -> list[View]:
    """All views of a workspace."""
    return [getattr(work, name)() for name in VIEWS]


def with_person(patch: pytest.MonkeyPatch) -> None:
    """Somebody looks at the notebook."""
    patch.setattr("axnb.lab.view.has_person", lambda: True)


# --- HTML ----------------------------------------------------------------------------------------

_STYLE = (Path(__file__).parents[2] / "axnb/lab/templates/notebook.css").read_text("utf-8")

TAGS = {
    *("style", "div", "p", "h3", "ul", "li", "table", "caption", "thead", "tbody", "tr", "th"),
    *("td", "strong", "span", "pre", "svg", "title", "desc", "g", "rect", "text", "code"),
    *("path", "circle", "tspan"),
}
ATTRIBUTES = {
    *("class", "role", "aria-label", "aria-labelledby", "tabindex", "scope", "colspan", "id"),
    *("viewbox", "width", "height", "x", "y", "rx", "text-anchor", "xmlns"),
    *("d", "cx", "cy", "r", "transform", "aria-hidden"),
}
_VOID: set[str] = set()


@dataclass
class Page(HTMLParser):
    """A parsed piece of HTML, which has no tag or attribute but ours, and closes all it opens."""

    document: str
    text: str = ""
    values: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.document)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= ATTRIBUTES
        self.values += [value or "" for name, value in attrs if name == "aria-label"]
        told = dict(attrs)
        assert re.fullmatch("[a-z -]*", told.get("class") or "")
        assert re.fullmatch("[a-z]*", told.get("role") or "")
        self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            assert data == _STYLE
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    def check(self) -> Page:
        """Is everything that it says there to be seen?"""
        for text in (self.text, *self.values):
            assert {c for c in text if is_hidden(c)} <= {"\n"}
        return self


def page(view: View) -> Page:
    """What a view shows of itself without a person."""
    return Page(view._repr_mimebundle_()["text/html"]).check()


# --- widgets -------------------------------------------------------------------------------------


def widget_of(view: View) -> Any:
    """The widget of a view, as if its cell was run."""
    return view._widget()


def every(widget: Any) -> Iterator[Any]:
    """A widget and all that are in it, in reading order."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every(child)


def control(widget: Any, label: str, kind: str = "", nth: int = 0) -> Any:
    """The control with a label."""
    found = [
        w
        for w in every(widget)
        if getattr(w, "description", None) == label and kind in type(w).__name__
    ]
    return found[nth]


def told(widget: Any) -> str:
    """All that the HTML parts of a widget say."""
    return "\n".join(
        Page(w.value).check().text for w in every(widget) if type(w).__name__ == "HTML"
    )


def rows_of(widget: Any, nth: int = 0) -> list[list[str]]:
    """The cells of the `nth` table in a widget."""
    tables = [t for w in every(widget) if type(w).__name__ == "HTML" for t in _tables(w.value)]
    return tables[nth]


def _tables(document: str) -> list[list[list[str]]]:
    found = []
    for body in re.findall("<tbody>(.*?)</tbody>", document, re.DOTALL):
        found.append(
            [
                [Page(cell).text for cell in re.findall("<td[^>]*>(.*?)</td>", row, re.DOTALL)]
                for row in re.findall("<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
            ]
        )
    return found
