"""A box for SQL over the case: read-only, paged to a size that a browser bears, and stoppable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import ipywidgets as widgets

from axnb.lab import controls, fragments
from axnb.lab.desk import CaseDesk
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

    def __init__(self, desk: CaseDesk) -> None:
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
        self.task = Task(run, stop, status, self._run, self._interrupt)
        self.box: DOMWidget = controls.column(
            self._text, controls.row(run, stop, status), self._table
        )

    @property
    def frame(self) -> pandas.DataFrame:
        """The rows of the last query; `case.frame` gives all of a query that has more."""
        import pandas as pd

        if self._answer is None:
            return pd.DataFrame()
        return harmless(pd.DataFrame(self._answer.rows, columns=self._answer.shown_names()))

    def reload(self) -> None:
        """Another case was opened: the rows are those of the old one."""
        self._answer, self._table.value = None, ""

    def _run(self, progress: Callable[[str], None]) -> str:
        progress("running …")
        case = self._desk.case
        answer: Answer | None = None
        self._queries = Queries(case, self._text.value)
        try:
            # Of several statements the last one is shown, as in any console.
            for each in self._queries:
                answer = each
                progress("running …")
        finally:
            self._queries = None
        if answer is None:
            return "There is no query."
        with self._desk.lock:
            self._desk.refuse_old(case)
            self._answer, self._table.value = answer, fragments.page(_table(answer))
        return "done."

    def _interrupt(self) -> None:
        queries = self._queries
        if queries is not None:
            queries.interrupt()


def _table(answer: Answer) -> str:
    columns = [Column(name) for name in answer.shown_names()]
    caption = count(len(answer.rows), "row") + (" or more" if answer.has_more else "")
    more = len(answer.rows) > _MOST or answer.has_more
    remark = f"The first {_MOST} are shown; frame has more." if more else ""
    return fragments.table(caption, columns, answer.texts(_MOST), remark)
