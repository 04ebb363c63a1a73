"""Which conversations need attention, and which calls must be read back."""

from __future__ import annotations

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

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
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
        return frame_of(map(_record, self._fitting()), _FRAME)

    @property
    def calls(self) -> pandas.DataFrame:
        """The calls of those conversations whose outcome the log does not tell."""
        found = ({**vars(call), **_key(c)} for c, call in self._calls())
        return frame_of(found, _CALL_FRAME)

    def _calls(self) -> list[tuple[ConversationTriage, UnresolvedCall]]:
        return [(c, call) for c in self._fitting() for call in c.unresolved if call.consequential]

    def pieces(self) -> list[str]:
        """Both tables, cut to a size that a person reads."""
        return [*self._table(self._fitting()[:_MOST], _MOST), *self._calls_table()]

    def _table(self, shown: list[ConversationTriage], limit: int = 0) -> list[str]:
        total, fitting = len(self._desk.conversations), len(self._fitting())
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
        return [fragments.table(caption, _CONVERSATIONS, map(_row, shown), remark)]

    def _filtered(self) -> bool:
        return self._action != _ATTENTION or bool(self._within)

    def _calls_table(self) -> list[str]:
        calls = self._calls()
        if not calls:
            return [fragments.sentence("No call of theirs must be read back.")]
        rows = [
            (call.tool, call.operation_id or "(no id)", c.conversation_id, call.step, told_of(call))
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

        def show(*_: Any) -> None:
            fitting = self._fitting()
            here = fitting[pager.first : pager.first + controls.PAGE]
            table.value = fragments.page(*self._table(here))
            calls.value = fragments.page(*self._calls_table())
            pager.show(len(fitting), noun="conversations")
            keys = [(c.source, c.conversation_id) for c in here]
            offered = controls.choices([k[1] for k in keys], keys)
            one.options = [_NOBODY, *offered]
            one.value = self._desk.chosen if self._desk.chosen in keys else _NOBODY[1]

        def filtered(_: Any) -> None:
            self._action, self._within = actions.value, within.value
            pager.reset()
            show()

        def loaded() -> None:
            actions.options = self._actions()
            filtered(None)

        def follow() -> None:
            """What was chosen elsewhere, if it is on this page."""
            keys = [key for _, key in one.options]
            one.value = self._desk.chosen if self._desk.chosen in keys else _NOBODY[1]

        pager = controls.Pager(show)
        actions.observe(filtered, "value")
        within.observe(filtered, "value")
        one.observe(lambda change: self._desk.choose(change.new), "value")
        self._desk.on_case(loaded)
        self._desk.on_choice(follow)
        show()
        return controls.column(
            controls.row(actions, within), table, controls.row(pager.row, one), calls
        )

    def _actions(self) -> list[tuple[str, str]]:
        counts = {a: sum(c.action == a for c in self._desk.urgent) for a in ACTIONS}
        named = [("needs attention", _ATTENTION), ("all", "all")]
        return named + [(f"{TITLES[a]} ({n:,})", a) for a, n in counts.items() if n]


def _row(c: ConversationTriage) -> tuple[Any, ...]:
    unknown = sum(call.consequential for call in c.unresolved)
    do, stands = TITLES[c.action], standing(c)
    return (c.conversation_id, do, stands, c.last_step, unknown or "", " ".join(c.findings))


def _key(c: ConversationTriage) -> dict[str, str]:
    return {"source": c.source, "conversation_id": c.conversation_id}


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
    }
