"""Look closer: the rows of a source, two things side by side, and any query on the case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axnb.case.case import ask
from axnb.lab import fragments
from axnb.lab.desk import CaseDesk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.view import View

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

    from axnb.lab.compare import Comparison
    from axnb.lab.query import QueryBox
    from axnb.lab.rows import RowsBrowser

_TABLES = (Column("name", "id"), Column("kind"), Column("rows", "number"))


class TablesView(View):
    """The tables of the case; with a person, what can be done with them."""

    _desk: CaseDesk

    def __init__(self, desk: CaseDesk) -> None:
        super().__init__(desk)
        self.rows: RowsBrowser | None = None
        self.compared: Comparison | None = None
        self.query: QueryBox | None = None

    @property
    def frame(self) -> pandas.DataFrame:
        """The tables and views of the case; `case.frame` takes any query on them."""
        with self._desk.case.reading() as session:
            return frame_of(ask(session, "tables"), ("name", "kind", "rows"))

    def pieces(self) -> list[str]:
        """The names that a query can use."""
        with self._desk.case.reading() as session:
            found = ask(session, "tables")
        rows = [
            (t["name"], t["kind"], "" if t["rows"] is None else f"{t['rows']:,}") for t in found
        ]
        caption = f"{len(rows)} tables and views, for work.case.frame and axnb sql"
        return [fragments.table(caption, _TABLES, rows)]

    def widget(self) -> DOMWidget:
        """Rows, comparison and SQL, each under its heading."""
        from axnb.lab import controls
        from axnb.lab.compare import Comparison
        from axnb.lab.query import QueryBox
        from axnb.lab.rows import RowsBrowser

        rows, compared = RowsBrowser(self._desk), Comparison(self._desk)
        query = QueryBox(self._desk)
        self.rows, self.compared, self.query = rows, compared, query
        self._refresh = rows.refresh
        for reload in (rows.reload, compared.reload, query.reload):
            self._desk.on_case(reload)
        self._refresh()
        return controls.column(
            *(controls.html(fragments.heading("Rows of the log")), rows.box),
            *(controls.html(fragments.heading("Compare")), compared.box),
            *(controls.html(fragments.heading("Ask in SQL")), query.box),
        )
