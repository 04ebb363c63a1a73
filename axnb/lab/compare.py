"""Compare two sources, or two conversations part by part: do they say the same, and not what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import duckdb

from axnb.case.case import Case, ask
from axnb.errors import UsageError
from axnb.lab import controls, fragments
from axnb.lab.desk import CaseDesk, Key
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.picker import Picker
from axnb.lab.task import Task

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_MOST = 200
_SOURCES = (
    *(Column("conversation", "id"), Column("same rows", "number")),
    *(Column("same step, other text", "number"), Column("only in the first", "number")),
    *(Column("only in the second", "number"), Column("first difference at step", "number")),
)
_SOURCE_FIELDS = (
    *("conversation_id", "same", "other_text", "only_left", "only_right", "first_difference"),
)
_DIFFERENCES = ("other_text", "only_left", "only_right")
#: Columns that say the same in every record.
_OF_ALL = ("total", "alike")
_PARTS = (
    *(
        Column("part", "number"),
        Column("step", "number"),
        Column("first"),
        Column("step", "number"),
    ),
    *(Column("second"), Column("compared")),
)


class Comparison:
    """Two sources or two conversations side by side."""

    def __init__(self, desk: CaseDesk) -> None:
        self._desk = desk
        self._records: list[dict[str, Any]] = []
        self._session: duckdb.DuckDBPyConnection | None = None
        self._what = controls.choice(
            "Compare", [("two conversations", "conversations"), ("two sources", "sources")]
        )
        self._left = controls.choice("First", self._sources())
        self._right = controls.choice("Second", self._sources())
        self._table = controls.html()
        self._one = Picker(desk, "First", self._table, lambda: None)
        self._other = Picker(desk, "Second", self._table, lambda: None)
        self._ends = controls.row()
        start, stop = controls.button("Compare", "Compare the two"), controls.button("Stop")
        status = controls.html()
        self.task = Task(start, stop, status, self._compare, self._interrupt)
        #: Another case was opened.
        self.reload = controls.callback(desk.lock, self._table, self._reload)
        offer = controls.callback(desk.lock, self._table, lambda _: self._offer())
        self._what.observe(offer, "value")
        self.reload()
        top = controls.row(self._what, self._ends)
        buttons = controls.row(start, stop, status)
        self.box: DOMWidget = controls.column(top, buttons, self._table)

    @property
    def frame(self) -> pandas.DataFrame:
        """What was compared last."""
        names = (name for name in self._records[0] if name not in _OF_ALL) if self._records else ()
        return frame_of(self._records, tuple(names))

    def _sources(self) -> list[tuple[str, str]]:
        return [(name, name) for name in self._desk.logs()] or [("–", "")]

    def _reload(self) -> None:
        self._records = []
        for field in (self._left, self._right):
            field.options = self._sources()
        for picker in (self._one, self._other):
            picker.follow(None)
        self._offer()

    def _offer(self) -> None:
        """The fields that the choice needs, or why there is nothing to choose."""
        self._table.value = ""
        if self._what.value == "conversations":
            self._ends.children = (*self._one.controls, *self._other.controls)
            self.task.allow(True)
            return
        self._ends.children = (self._left, self._right)
        several = len(self._sources()) > 1
        self.task.allow(several)
        if several:
            self._right.value = self._sources()[1][1]
        else:
            none = "There is one log only: name another under “Beside it” and load again."
            self._table.value = fragments.page(fragments.sentence(none))

    def _compare(self, progress: Callable[[str], None]) -> str:
        if self._what.value == "sources":
            return self._compare_sources(self._left.value, self._right.value, progress)
        return self._compare_conversations(self._one.value, self._other.value, progress)

    def _compare_sources(self, left: str, right: str, progress: Callable[[str], None]) -> str:
        if left == right:
            raise UsageError("choose two different sources.")
        case, values = self._desk.case, {"left": left, "right": right, "limit": _MOST, "offset": 0}
        with self._reading(case, progress) as session:
            found = ask(session, "compared_sources", values)
        rows = [[record[name] for name in _SOURCE_FIELDS] for record in found]
        differing = sum(any(r[name] for name in _DIFFERENCES) for r in found)
        caption = f"{differing:,} of the {len(rows):,} conversations below differ"
        remark = f"At most {_MOST} conversations are shown, those that differ first."
        self._show(case, found, fragments.table(caption, _SOURCES, rows, remark))
        return f"{left} and {right} are compared by the text of each row."

    def _compare_conversations(
        self, one: Key | None, other: Key | None, progress: Callable[[str], None]
    ) -> str:
        if one is None or other is None:
            raise UsageError("choose two conversations.")
        case = self._desk.case
        values = {"left": one[0], "left_id": one[1], "right": other[0], "right_id": other[1]}
        with self._reading(case, progress) as session:
            found = ask(session, "compared_conversations", values | {"limit": _MOST, "offset": 0})
            (unreadable,) = ask(session, "unreadable_of", values)
        rows = [
            (
                *(r["n"], r["left_step"], _part(r, "left"), r["right_step"], _part(r, "right")),
                _told(r),
            )
            for r in found
        ]
        alike, total = (found[0]["alike"], found[0]["total"]) if found else (0, 0)
        caption = f"{alike:,} of {total:,} parts say the same"
        remark = f"The first {_MOST} parts are shown." if total > _MOST else ""
        self._show(case, found, fragments.table(caption, _PARTS, rows, remark))
        told = "Parts are compared in order, by their kind, their tool and what they say."
        if any(unreadable.values()):
            rejected = (
                f"{unreadable['left']:,} of the first and {unreadable['right']:,} of the second"
            )
            told += f" Rows that cannot be read are not compared: {rejected}."
        return told

    @contextmanager
    def _reading(
        self, case: Case, progress: Callable[[str], None]
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A session that a person can break off."""
        with case.reading() as session:
            self._session = session
            try:
                progress("comparing …")
                yield session
            finally:
                self._session = None

    def _interrupt(self) -> None:
        session = self._session
        if session is not None:
            with suppress(duckdb.ConnectionException):
                session.interrupt()

    def _show(self, case: Case, found: list[dict[str, Any]], table: str) -> None:
        with self._desk.lock:
            self._desk.refuse_old(case)
            self._records, self._table.value = found, fragments.page(table)


def _part(record: dict[str, Any], side: str) -> str:
    if record[f"{side}_kind"] is None:
        return "–"
    return " ".join(filter(None, (record[f"{side}_kind"], record[f"{side}_tool"])))


def _told(record: dict[str, Any]) -> str:
    if record["left_kind"] is None or record["right_kind"] is None:
        return "only one"
    if not record["same_kind"]:
        return "≠ another part"
    return "= same" if record["same_text"] else "≠ another text"
