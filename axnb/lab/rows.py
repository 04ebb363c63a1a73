"""The rows of a source, filtered and a page at a time: a query each, whatever the log's size."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from axnb.case.browse import MOST_COUNTED, RowFilter, count_of_rows, page_of_rows
from axnb.lab import controls, fragments
from axnb.lab.desk import Desk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of

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

_NUMBER = re.compile("-?[0-9]+")

#: Where the first page begins.
_START = (0, -1)


class RowsBrowser:
    """Filters above a page of rows."""

    def __init__(self, desk: Desk) -> None:
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
        self._pager = controls.Pager(self._turn)
        #: The last row and part before each page that was shown.
        self._before = [_START]
        self._total = 0
        for field in (self._source, *self._fields.values()):
            field.observe(lambda _: self.refresh(), "value")
        top = controls.row(self._source, *self._fields.values())
        self.box: DOMWidget = controls.column(top, self._table, self._pager.row)

    def _sources(self) -> list[tuple[str, str]]:
        logs = [(s.name, s.name) for s in self._desk.triage.sources if s.is_log]
        return logs or [("–", "")]

    def reload(self) -> None:
        """Another case was opened."""
        sources = self._sources()
        if list(self._source.options) != sources:
            self._source.options = sources
        self.refresh()

    def refresh(self) -> None:
        """Count the rows that fit, and show the first page."""
        self._pager.reset()
        self._before = [_START]
        wanted = self._wanted()
        if wanted is None:
            return
        with self._desk.case.reading() as session:
            self._total = count_of_rows(session, wanted)
        self._turn()

    def _wanted(self) -> RowFilter | None:
        """The filter as it stands; None if a step is no number, which is then said."""
        values: dict[str, Any] = {name: field.value for name, field in self._fields.items()}
        values["state"] = None if values["state"] == -1 else values["state"]
        for name in ("lowest", "highest"):
            text = values[name].strip()
            if (text and not text.isascii()) or (text and not text.removeprefix("-").isdigit()):
                told = fragments.sentence(f"✗ {text[:20]!r} is no step: write a number.", "failed")
                self._table.value = fragments.page(told)
                return None
            values[name] = max(-(2**63), min(int(text), 2**63 - 1)) if text else None
        return RowFilter(self._source.value, **values)

    @property
    def frame(self) -> pandas.DataFrame:
        """The rows that fit the filter, at most 100,000; `case.frame` takes any query."""
        wanted = self._wanted()
        if wanted is None:
            return frame_of((), _FIELDS)
        with self._desk.case.reading() as session:
            return frame_of(page_of_rows(session, wanted, limit=MOST_COUNTED), _FIELDS)

    def _turn(self) -> None:
        wanted = self._wanted()
        if wanted is None:
            return
        number = self._pager.first // controls.PAGE
        with self._desk.case.reading() as session:
            found = page_of_rows(session, wanted, self._before[number], controls.PAGE)
        if found and number + 1 == len(self._before):
            self._before.append((found[-1]["row"], found[-1]["part"]))
        is_all = self._total <= MOST_COUNTED
        rows = [[record[name] for name in _FIELDS] for record in found]
        pieces = [fragments.sentence("No row fits.")]
        if rows:
            caption = "Rows of the log; what they say stays hidden"
            pieces = [fragments.table(caption, _COLUMNS, rows)]
        self._table.value = fragments.page(*pieces)
        self._pager.show(min(self._total, MOST_COUNTED), is_all=is_all)
