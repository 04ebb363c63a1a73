"""The rows of a source, filtered and a page at a time: a query each, whatever the log's size."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from axnb.case.browse import MOST_COUNTED, START, RowFilter, count_of_rows, page_of_rows
from axnb.errors import UsageError
from axnb.lab import controls, fragments
from axnb.lab.desk import CaseDesk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.text import is_text

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_COLUMNS = (
    *(Column("row", "number"), Column("conversation", "id"), Column("step", "number")),
    *(Column("state"), Column("kind"), Column("role"), Column("tool", "id")),
    *(Column("call id", "id"), Column("bytes", "number")),
)
_FIELDS = ("row", "conversation_id", "step", "state", "kind", "role", "tool", "call_id", "size")
_KINDS = (
    *("text", "thought", "tool_call", "tool_result", "confirmation", "other"),
    *("no content", "unreadable"),
)
_STATES = {-1: "all", 0: "unspecified", 1: "pending", 2: "failed", 3: "completed", 4: "canceled"}

#: More digits than any step has.
_NUMBER = re.compile("-?[0-9]{1,30}")
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


class RowsBrowser:
    """Filters above a page of rows."""

    def __init__(self, desk: CaseDesk) -> None:
        self._desk = desk
        self._source = controls.choice("Source", self._sources())
        self._fields = {
            "within": controls.text("Id contains"),
            "state": controls.choice("State", [(word, n) for n, word in _STATES.items()]),
            "kind": controls.choice("Kind", [("all", "")] + [(kind, kind) for kind in _KINDS]),
            "tool": controls.text("Tool contains", width="14rem"),
            "lowest": controls.text("From step", width="9rem"),
            "highest": controls.text("To step", width="9rem"),
        }
        self._table = controls.html()
        said = partial(controls.callback, desk.lock, self._table)
        self._pager = controls.Pager(desk.lock, self._table, self._turn)
        #: The last row and part before each page that can be shown.
        self._before = [START]
        self._total = 0
        #: Counts the rows that fit, and shows the first page.
        self.refresh = said(self._first_page)
        #: Another case was opened.
        self.reload = said(self._reload)
        for field in (self._source, *self._fields.values()):
            field.observe(said(lambda _: self._first_page()), "value")
        top = controls.row(self._source, *self._fields.values())
        self.box: DOMWidget = controls.column(top, self._table, self._pager.row)

    def _sources(self) -> list[tuple[str, str]]:
        return [(name, name) for name in self._desk.logs()] or [("–", "")]

    def _reload(self) -> None:
        if list(self._source.options) != self._sources():
            self._source.options = self._sources()
        self._first_page()

    def _first_page(self) -> None:
        self._pager.reset()
        self._before = [START]
        wanted = self._wanted()
        with self._desk.case.reading() as session:
            self._total = count_of_rows(session, wanted)
        self._turn()

    def _wanted(self) -> RowFilter:
        """The filter as it stands. Raises UsageError if a step is no number."""
        values: dict[str, Any] = {name: field.value for name, field in self._fields.items()}
        values["state"] = None if values["state"] == -1 else values["state"]
        if not is_text(values["within"] + values["tool"]):
            raise UsageError("the filter is no text in UTF-8.")
        for name in ("lowest", "highest"):
            values[name] = _step(values[name].strip())
        return RowFilter(self._source.value, **values)

    @property
    def frame(self) -> pandas.DataFrame:
        """The rows that fit the filter, at most 100,000; `case.frame` takes any query."""
        with self._desk.case.reading() as session:
            return frame_of(page_of_rows(session, self._wanted(), limit=MOST_COUNTED), _FIELDS)

    def _turn(self) -> None:
        """Show the page that the pager is at."""
        number = self._pager.first // controls.PAGE
        with self._desk.case.reading() as session:
            # One more than is shown tells whether there is a next page.
            found = page_of_rows(session, self._wanted(), self._before[number], controls.PAGE + 1)
        more, found = len(found) > controls.PAGE, found[: controls.PAGE]
        if more:
            self._before[number + 1 :] = [(found[-1]["row"], found[-1]["part"])]
        pieces = [fragments.sentence("No row fits.")]
        if found:
            rows = [[record[name] for name in _FIELDS] for record in found]
            caption = "Rows of the log; what they say stays hidden"
            pieces = [fragments.table(caption, _COLUMNS, rows)]
        self._table.value = fragments.page(*pieces)
        total, is_all = min(self._total, MOST_COUNTED), self._total <= MOST_COUNTED
        self._pager.show(len(found), total, "rows", is_all=is_all, more=more)


def _step(text: str) -> int | None:
    """A step from a text; one that no log can have is as far off as the farthest that it can."""
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise UsageError(f"{text[:20]!r} is no step: write a number.")
    return max(_LOWEST, min(int(text), _HIGHEST))
