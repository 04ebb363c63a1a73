"""A box for SQL over the case: read-only, paged to a size that a browser bears, and stoppable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import ipywidgets as widgets

from axnb.lab import controls, fragments
from axnb.lab.desk import Desk
from axnb.lab.fragments import Column
from axnb.lab.frames import harmless
from axnb.lab.task import Task
from axnb.report.query import Answer, Queries
from axnb.text import count

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_MOST = 100
_FIRST = "select tool, outcome, count(*) as calls from tool_calls group by all order by calls desc"


class QueryBox:
    """A text field, a button, and the rows of the last query."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._queries: Queries | None = None
        self._answer: Answer | None = None
        self._text = widgets.Textarea(
            _FIRST,
            description="SQL",
            continuous_update=True,
            style=controls.FIELD,
            layout=widgets.Layout(width="100%", max_width="72rem", height="6rem"),
        )
        run = controls.button("Run", "Run the query on the case, read-only")
        stop = controls.button("Stop", "Break off the query")
        status, self._table = controls.html(), controls.html()
        Task(run, stop, status, self._run, self._interrupt)
        self.box: DOMWidget = controls.column(
            self._text, controls.row(run, stop, status), self._table
        )

    @property
    def frame(self) -> pandas.DataFrame:
        """The rows of the last query; `case.frame` gives all of a query that has more."""
        import pandas as pd

        if self._answer is None:
            return pd.DataFrame()
        return harmless(pd.DataFrame(self._answer.rows, columns=list(self._answer.names)))

    def _run(self, progress: Callable[[str], None]) -> str:
        progress("running …")
        self._queries = Queries(self._desk.case, self._text.value)
        try:
            # Of several statements the last one is shown, as in any console.
            for answer in self._queries:
                self._answer = answer
        finally:
            self._queries = None
        if self._answer is None:
            return "There is no query."
        shown = self._answer.texts(_MOST)
        columns = [Column(name) for name in self._answer.shown_names()]
        more = len(self._answer.rows) > _MOST or self._answer.has_more
        caption = count(len(self._answer.rows), "row") + (
            " or more" if self._answer.has_more else ""
        )
        remark = f"The first {_MOST} are shown; frame has more." if more else ""
        self._table.value = fragments.page(fragments.table(caption, columns, shown, remark))
        return "done."

    def _interrupt(self) -> None:
        if self._queries is not None:
            self._queries.interrupt()
