"""Compare two sources, or two conversations part by part: do they say the same, and not what."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from axnb.case.case import ask
from axnb.lab import controls, fragments
from axnb.lab.desk import Desk
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

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._records: list[dict[str, Any]] = []
        self._what = controls.choice(
            "Compare", [("two conversations", "conversations"), ("two sources", "sources")]
        )
        self._left = controls.choice("First", self._sources())
        self._right = controls.choice("Second", self._sources())
        self._one = Picker(desk, "First", lambda key: None)
        self._other = Picker(desk, "Second", lambda key: None)
        self._start = controls.button("Compare", "Compare the two")
        self._stop = controls.button("Stop", "Stop comparing")
        self._status, self._table = controls.html(), controls.html()
        self._ends = controls.row()
        self._what.observe(lambda _: self._offer(), "value")
        Task(self._start, self._stop, self._status, self._compare)
        self._one.follow(None)
        self._other.follow(None)
        self._offer()
        top = controls.row(self._what, self._ends)
        buttons = controls.row(self._start, self._stop, self._status)
        self.box: DOMWidget = controls.column(top, buttons, self._table)

    @property
    def frame(self) -> pandas.DataFrame:
        """What was compared last."""
        return frame_of(self._records, tuple(self._records[0]) if self._records else ())

    def _sources(self) -> list[tuple[str, str]]:
        return [(s.name, s.name) for s in self._desk.triage.sources if s.is_log] or [("–", "")]

    def reload(self) -> None:
        """Another case was opened."""
        for field in (self._left, self._right):
            field.options = self._sources()
        self._one.follow(None)
        self._other.follow(None)
        self._offer()

    def _offer(self) -> None:
        """The fields that the choice needs, or why there is nothing to choose."""
        self._table.value, self._start.disabled = "", False
        if self._what.value == "conversations":
            self._ends.children = (*self._one.controls, *self._other.controls)
            return
        self._ends.children = (self._left, self._right)
        if len(self._sources()) < 2:
            none = "There is one log only: name another under “Beside it” and load again."
            self._table.value = fragments.page(fragments.sentence(none))
            self._start.disabled = True
        else:
            self._right.value = self._sources()[1][1]

    def _compare(self, progress: Callable[[str], None]) -> str:
        progress("comparing …")
        if self._what.value == "sources":
            return self._compare_sources(self._left.value, self._right.value)
        return self._compare_conversations()

    def _compare_sources(self, left: str, right: str) -> str:
        if left == right:
            return "Choose two different sources."
        values = {"left": left, "right": right, "limit": _MOST, "offset": 0}
        with self._desk.case.reading() as session:
            self._records = ask(session, "compared_sources", values)
        rows = [[record[name] for name in _SOURCE_FIELDS] for record in self._records]
        differing = sum(r["first_difference"] is not None for r in self._records)
        caption = f"{differing:,} of the {len(rows):,} conversations below differ"
        remark = f"At most {_MOST} conversations are shown, those that differ first."
        self._table.value = fragments.page(fragments.table(caption, _SOURCES, rows, remark))
        return f"{left} and {right} are compared by the text of each row."

    def _compare_conversations(self) -> str:
        one, other = self._one.value, self._other.value
        if one is None or other is None:
            return "Choose two conversations."
        values = {"left": one[0], "left_id": one[1], "right": other[0], "right_id": other[1]}
        with self._desk.case.reading() as session:
            found = ask(session, "compared_conversations", values | {"limit": _MOST, "offset": 0})
        self._records = found
        rows = [
            (
                *(r["n"], r["left_step"], _part(r, "left"), r["right_step"], _part(r, "right")),
                _told(r),
            )
            for r in found
        ]
        same = sum(_told(r) == "= same" for r in found)
        caption = f"{same:,} of {len(found):,} parts say the same"
        remark = f"At most {_MOST} parts are shown."
        self._table.value = fragments.page(fragments.table(caption, _PARTS, rows, remark))
        return "Parts are compared in order, by their kind, their tool and what they say."


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
