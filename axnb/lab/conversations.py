"""Which conversations need attention, and which calls must be read back."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from axnb.lab import fragments
from axnb.lab.desk import Desk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.report.groups import TITLES, standing, told_of
from axnb.triaging import ACTIONS, ConversationTriage, UnresolvedCall

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

#: Rows of a table that nobody can page through.
_MOST = 50

_ATTENTION = "attention"
_NOBODY = ("–", ("", ""))

_CONVERSATIONS = (
    *(Column("conversation", "id"), Column("what to do"), Column("where it stands")),
    *(Column("last step", "number"), Column("unknown calls", "number"), Column("findings")),
)
#: Where a bucket was read.
_SNAPSHOT = Column("snapshot")
_SNAPSHOT_FRAME = ("snapshot", "restorable", "relation")
_CALLS = (
    *(Column("tool", "id"), Column("operation id", "id"), Column("conversation", "id")),
    *(Column("step", "number"), Column("the log holds")),
)
_FRAME = (
    *("source", "conversation_id", "action", "state", "last_step", "unknown_calls"),
    *("open_questions", "harness", "next_empty", "next_input", "findings"),
)
_CALL_FRAME = (
    *("source", "conversation_id", "step", "tool", "operation_id", "outcome", "consequential"),
)


class ConversationsView(View):
    """Conversations by what to do, and the calls to read back."""

    _desk: Desk

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        #: `attention`, `all`, or one action.
        self._action = _ATTENTION
        self._within = ""

    def _fitting(self) -> list[ConversationTriage]:
        return [c for c in self._desk.urgent if self._within in c.conversation_id and self._fits(c)]

    def _fits(self, c: ConversationTriage) -> bool:
        if self._action == _ATTENTION:
            return c.action != "nothing"
        return self._action in ("all", c.action)

    @property
    def frame(self) -> pandas.DataFrame:
        """The conversations that fit the filter, the most urgent first."""
        columns = (*_FRAME, *_SNAPSHOT_FRAME) if self._has_snapshots() else _FRAME
        return frame_of(map(_record, self._fitting()), columns)

    def _has_snapshots(self) -> bool:
        return any(c.snapshot is not None for c in self._desk.urgent)

    @property
    def calls(self) -> pandas.DataFrame:
        """The calls of those conversations whose outcome the log does not tell."""
        found = ({**vars(call), **_key(c)} for c, call in self._calls())
        return frame_of(found, _CALL_FRAME)

    def _calls(self) -> list[tuple[ConversationTriage, UnresolvedCall]]:
        return [(c, call) for c in self._fitting() for call in c.unresolved if call.consequential]

    def pieces(self) -> list[str]:
        """Both tables, cut to a size that a person reads."""
        fitting = self._fitting()
        return [*self._table(fitting[:_MOST], len(fitting), _MOST), *self._calls_table()]

    def _table(self, shown: list[ConversationTriage], fitting: int, limit: int = 0) -> list[str]:
        total = len(self._desk.conversations)
        if not total:
            return [fragments.sentence("The case holds no conversation.")]
        if not fitting:
            nothing = (
                "No conversation fits." if self._filtered() else "No conversation needs a person."
            )
            return [fragments.sentence(nothing)]
        need = "fit" if self._filtered() else "need attention"
        remark = f"{limit} of {fitting:,} are shown; frame has all." if 0 < limit < fitting else ""
        caption = f"{fitting:,} of {total:,} conversations {need}"
        columns = (*_CONVERSATIONS, _SNAPSHOT) if self._has_snapshots() else _CONVERSATIONS
        return [fragments.table(caption, columns, map(self._row, shown), remark)]

    def _row(self, c: ConversationTriage) -> tuple[Any, ...]:
        unknown = sum(call.consequential for call in c.unresolved)
        named, do, stands = self._named(c), TITLES[c.action], standing(c)
        told = (named, do, stands, c.last_step, unknown or "", " ".join(c.findings))
        return (*told, _snapshot(c)) if self._has_snapshots() else told

    def _named(self, c: ConversationTriage) -> str:
        return self._desk.label((c.source, c.conversation_id))

    def _filtered(self) -> bool:
        return self._action != _ATTENTION or bool(self._within)

    def _calls_table(self) -> list[str]:
        calls = self._calls()
        if not calls:
            return [fragments.sentence("No call of theirs must be read back.")]
        rows = [
            (call.tool, call.operation_id or "(no id)", self._named(c), call.step, told_of(call))
            for c, call in calls[:_MOST]
        ]
        remark = (
            f"{_MOST} of {len(calls):,} are shown; calls has all." if len(calls) > _MOST else ""
        )
        caption = f"{len(calls):,} calls to read back from their tools, by the operation id"
        return [fragments.table(caption, _CALLS, rows, remark)]

    def widget(self) -> DOMWidget:
        """Filters, a page of conversations, and a list to choose one from."""
        from axnb.lab import controls

        actions = controls.choice("What to do", self._actions())
        within = controls.text("Id contains")
        one = controls.choice("Show below", [_NOBODY])
        table, calls = controls.html(), controls.html()

        def show() -> None:
            fitting = self._fitting()
            here = fitting[pager.first : pager.first + controls.PAGE]
            table.value = fragments.page(*self._table(here, len(fitting)))
            calls.value = fragments.page(*self._calls_table())
            pager.show(len(here), len(fitting), "conversations")
            keys = [(c.source, c.conversation_id) for c in here]
            one.options = controls.choices(map(self._desk.label, keys), keys, _NOBODY)
            follow()

        def follow() -> None:
            offered = {key for _, key in one.options}
            one.value = self._desk.chosen if self._desk.chosen in offered else _NOBODY[1]

        def filtered(_: Any = None) -> None:
            self._action, self._within = actions.value, within.value
            pager.reset()
            show()

        def opened() -> None:
            actions.options = self._actions()
            filtered()

        said = partial(controls.callback, self._desk.lock, table)
        pager = controls.Pager(self._desk.lock, table, show)
        self._refresh = said(show)
        actions.observe(said(filtered), "value")
        within.observe(said(filtered), "value")
        one.observe(said(lambda change: self._desk.choose(change.new)), "value")
        self._desk.on_case(said(opened))
        self._desk.on_choice(said(follow))
        self._refresh()
        return controls.column(
            controls.row(actions, within), table, controls.row(pager.row, one), calls
        )

    def _actions(self) -> list[tuple[str, str]]:
        counts = Counter(c.action for c in self._desk.urgent)
        named = [("needs attention", _ATTENTION), ("all", "all")]
        return named + [(f"{TITLES[a]} ({counts[a]:,})", a) for a in ACTIONS if counts[a]]


def _key(c: ConversationTriage) -> dict[str, str]:
    return {"source": c.source, "conversation_id": c.conversation_id}


def _snapshot(c: ConversationTriage) -> str:
    """What a restore of its snapshot gives back, and how that stands to the log."""
    held = c.snapshot
    if held is None:
        return ""
    stands = {"unknown": "", "none": "none", "gone": "gone"}.get(held.relation, held.relation)
    return ", ".join(filter(None, [held.restorable, stands]))


def _record(c: ConversationTriage) -> dict[str, Any]:
    return {
        **_key(c),
        "action": c.action,
        "state": c.state,
        "last_step": c.last_step,
        "unknown_calls": sum(call.consequential for call in c.unresolved),
        "open_questions": c.open_questions,
        "harness": c.harness,
        "next_empty": c.next.empty,
        "next_input": c.next.input,
        "findings": " ".join(c.findings),
        "snapshot": c.snapshot.key if c.snapshot else None,
        "restorable": c.snapshot.restorable if c.snapshot else None,
        "relation": c.snapshot.relation if c.snapshot else None,
    }
