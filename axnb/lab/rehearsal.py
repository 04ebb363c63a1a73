"""A drill that answers in words: how it was asked, its checks, what is lost, how long it took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from axnb.errors import UsageError
from axnb.lab import fragments
from axnb.lab.choice import ChosenView, read_pieces
from axnb.lab.desk import RehearsalDesk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.report import restore_charts
from axnb.report.drill_view import StepView
from axnb.report.rehearsal_view import Word
from axnb.report.rehearsal_words import file_names, measured, reach, timed
from axnb.report.restore_view import MOST_LINES, LostLine, LostView, standing, steps
from axnb.text import count

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_ALL = "all"
_MOST_CALLS = 60
_NOTHING = "Nothing was checked."

_CHECKS = (
    *(Column("check"), Column("verdict"), Column("expected"), Column("observed")),
    Column("evidence", "id"),
)
_CHECKS_FRAME = ("word", "check", "verdict", "expected", "observed", "evidence")
_LOST = (
    *(Column("conversation", "id"), Column("restored to", "number")),
    *(Column("source ends at", "number"), Column("lost"), Column("handed out twice")),
    *(Column("will come again"), Column("who remembers"), Column("calls", "number")),
    Column("snapshot"),
)
_LOST_FRAME = (
    *("conversation_id", "restored", "source", "lost", "twice", "coming", "who", "calls"),
    *("relation", "cut"),
)
_CALLS = (
    *(Column("tool", "id"), Column("operation id", "id"), Column("conversation", "id")),
    *(Column("step", "number"), Column("log that holds it", "id"), Column("it holds")),
)
_CALLS_FRAME = ("tool", "operation_id", "conversation_id", "step", "source", "known")


class RestoreChoiceView(ChosenView):
    """The parameters of a restore drill, and what was read; with a person, a place to run again."""

    _desk: RehearsalDesk

    _load = ("Run the drill", "Run it anew with what is chosen here")
    _stop = "Stop the drill; what is shown stays"
    _lists = ("beside", "records")
    _exact = ()

    def _sources(self) -> list[str]:
        return read_pieces(self._desk.sources)

    def _fields(self) -> dict[str, Any]:
        from axnb.lab import controls

        chosen = self._chosen
        beside = ", ".join(chosen["beside"])
        return {
            "source": controls.text("Source", chosen["source"], "a path or a variable", "24rem"),
            "backup": controls.text("Backup", chosen["backup"], "the drill takes one", "24rem"),
            "beside": controls.text("Beside it", beside, "another copy, expect-last=ID=N, …"),
            "snapshots": controls.text("Bucket", chosen["snapshots"], "none", "18rem"),
            "snapshots_backup": controls.text(
                "Its copy", chosen["snapshots_backup"], "the drill takes one", "18rem"
            ),
            "rpo_steps": controls.text("May be lost", str(chosen["rpo_steps"]), "steps", "10rem"),
        }

    def _value(self, name: str, value: Any) -> Any:
        if name != "rpo_steps":
            return super()._value(name, value)
        if not value.strip().isdecimal():
            raise UsageError(f"how many steps may be lost is a number, not {value!r:.40}.")
        return int(value)


class ShownView(View):
    """A view that has nothing to choose, and follows another run."""

    _desk: RehearsalDesk

    def widget(self) -> DOMWidget:
        """The same as without a person."""
        from axnb.lab import controls

        shown = controls.html()

        def show() -> None:
            shown.value = fragments.page(*self.pieces())

        self._refresh = controls.callback(self._desk.lock, shown, show)
        self._desk.on_case(self._refresh)
        self._refresh()
        return shown


class ChecksView(View):
    """Each word of the drill with its checks."""

    _desk: RehearsalDesk

    def __init__(self, desk: RehearsalDesk) -> None:
        super().__init__(desk)
        self._word, self._only_bad = _ALL, False

    def _words(self) -> list[tuple[Word, list[StepView]]]:
        words = self._desk.answered.words if self._desk.answered else ()
        return [
            (word, [s for s in word.steps if not self._only_bad or s.verdict != "ok"])
            for word in words
            if self._word in (_ALL, word.name)
        ]

    @property
    def frame(self) -> pandas.DataFrame:
        """A row a check, as filtered."""
        told = (
            {
                "word": word.name,
                **{name: getattr(step, name) for name in ("check", "expected", "observed")},
                "verdict": step.word,
                "evidence": "; ".join(step.evidence),
            }
            for word, found in self._words()
            for step in found
        )
        return frame_of(told, _CHECKS_FRAME)

    def pieces(self) -> list[str]:
        """How it went, and a table a word."""
        answered = self._desk.answered
        if answered is None:
            return [fragments.sentence(_NOTHING)]
        told = [reach(answered), *measured(self._desk.result)]
        return [*map(fragments.sentence, told), *self._tables()]

    def _tables(self) -> list[str]:
        told = []
        for word, found in self._words():
            caption = f"{word.sign} {word.name}: {word.title}".rstrip(": ")
            rows = [_row(step) for step in found]
            remark = f"{word.more:,} more checks in result.json." if word.more else ""
            told.append(fragments.table(caption, _CHECKS, rows, remark))
        return told

    def widget(self) -> DOMWidget:
        """Filters of words and verdicts, and the tables."""
        from axnb.lab import controls

        word = controls.choice("Word", self._offered())
        which = controls.choice("Checks", [("all", False), ("not ok", True)], False)
        heads, tables = controls.html(), controls.html()

        def show() -> None:
            heads.value = fragments.page(*self.pieces()[: -len(self._tables()) or None])
            tables.value = fragments.page(*self._tables())

        def filtered(_: Any = None) -> None:
            self._word, self._only_bad = word.value or _ALL, which.value
            tables.value = fragments.page(*self._tables())

        def opened() -> None:
            # The first of new options is chosen, which is all of them.
            word.options = self._offered()
            show()

        said = partial(controls.callback, self._desk.lock, tables)
        self._refresh = said(show)
        for control in (word, which):
            control.observe(said(filtered), "value")
        self._desk.on_case(said(opened))
        self._refresh()
        return controls.column(heads, controls.row(word, which), tables)

    def _offered(self) -> list[tuple[str, str]]:
        words = self._desk.answered.words if self._desk.answered else ()
        return [("all", _ALL), *((f"{word.name} {word.sign}", word.name) for word in words)]


def _row(step: StepView) -> tuple[str, ...]:
    verdict = f"{step.sign} {step.word}"
    return step.check, verdict, step.expected, step.observed, "; ".join(step.evidence) or "–"


#: What a person looks for among the conversations.
_WHICH: Sequence[tuple[str, Callable[[LostLine], bool]]] = (
    ("all", lambda line: True),
    ("steps lost", lambda line: bool(line.lost)),
    ("handed out twice", lambda line: bool(line.twice)),
    ("snapshot does not fit", lambda line: line.relation not in ("", "fits")),
)


class LostItemsView(View):
    """What a restore would lose of each conversation: a line of steps, and a row of a table."""

    _desk: RehearsalDesk

    def __init__(self, desk: RehearsalDesk) -> None:
        super().__init__(desk)
        self._which, self._within = "all", ""

    def _fitting(self) -> list[LostLine]:
        fits = dict(_WHICH)[self._which]
        return [x for x in self._desk.lost if fits(x) and self._within in x.conversation_id]

    @property
    def frame(self) -> pandas.DataFrame:
        """A row a conversation, as filtered."""
        told = (
            {
                **{name: getattr(line, name) for name in _LOST_FRAME},
                **{name: steps(getattr(line, name)) for name in ("lost", "twice", "coming")},
                "who": ", ".join(line.who),
                "calls": "; ".join(f"{call.step}: {call.words}" for call in line.calls),
            }
            for line in self._fitting()
        )
        return frame_of(told, _LOST_FRAME)

    def pieces(self) -> list[str]:
        """The picture, and the same in words."""
        fitting = self._fitting()
        if not self._desk.lost:
            return [fragments.sentence(self._why_nothing())]
        if not fitting:
            return [fragments.sentence("No conversation fits.")]
        shown = fitting[:MOST_LINES]
        picture = restore_charts.lost_picture(LostView(tuple(shown)))
        remark = f"{MOST_LINES} of {len(fitting):,} are shown; frame has all."
        return [
            *([fragments.lost(picture)] if picture else []),
            fragments.table(
                f"{count(len(fitting), 'conversation')}, the worst first",
                _LOST,
                map(_lost_row, shown),
                remark if len(fitting) > len(shown) else "",
            ),
        ]

    def _why_nothing(self) -> str:
        if not self._desk.result.measures.get("rows"):
            return "Nothing was restored."
        if self._desk.result.measures.get("rpo_steps") is None:
            return (
                "Nothing tells: a lost tail leaves no gap, and neither source nor cursor is there."
            )
        return "No conversation loses a step, and no number comes again that somebody remembers."

    def widget(self) -> DOMWidget:
        """Filters, and what fits them."""
        from axnb.lab import controls

        which = controls.choice("Which", [(name, name) for name, _ in _WHICH])
        within, shown = controls.text("Id contains"), controls.html()

        def show() -> None:
            shown.value = fragments.page(*self.pieces())

        def filtered(_: Any = None) -> None:
            self._which, self._within = which.value or "all", within.value
            show()

        said = partial(controls.callback, self._desk.lock, shown)
        self._refresh = said(show)
        for control in (which, within):
            control.observe(said(filtered), "value")
        self._desk.on_case(said(show))
        self._refresh()
        return controls.column(controls.row(which, within), shown)


def _lost_row(line: LostLine) -> tuple[Any, ...]:
    return (
        line.conversation_id or "(empty)",
        f"{line.restored:,}" if line.restored else "–",
        "–" if line.source is None else f"{line.source:,}",
        *(steps(of) for of in (line.lost, line.twice, line.coming)),
        ", ".join(line.who) or "–",
        len(line.calls) or "–",
        standing(line),
    )


class ForgottenView(ShownView):
    """Calls that the restored log does not know: to be read back before anything runs again."""

    @property
    def frame(self) -> pandas.DataFrame:
        """A row a call."""
        return frame_of(self._desk.result.unresolved.get("calls", ()), _CALLS_FRAME)

    def pieces(self) -> list[str]:
        """The calls, by the log that holds them."""
        found = self._desk.result.unresolved
        if not found.get("count"):
            return [fragments.sentence("No log holds a call that the restored one does not know.")]
        files = file_names(self._desk.result)
        rows = [
            (
                *(call["tool"], call["operation_id"] or "(no id)", call["conversation_id"]),
                "?" if call["step"] is None else call["step"],
                *(files.get(call["source"], call["source"]), call["known"]),
            )
            for call in found["calls"][:_MOST_CALLS]
        ]
        left = found["count"] - len(rows)
        caption = f"{count(found['count'], 'call')} that the restored log does not know"
        remark = f"{left:,} more; the report has them." if left else ""
        return [fragments.table(caption, _CALLS, rows, remark)]


class PhasesView(ShownView):
    """How long each phase of a restore took."""

    @property
    def frame(self) -> pandas.DataFrame:
        """A row a phase; `counts` says whether a recovery has to go through it."""
        run = self._desk.result.run
        counted = run.get("rto_phases", ())
        told = (
            {"phase": name, "seconds": seconds, "counts": name in counted}
            for name, seconds in run.get("phases", {}).items()
        )
        return frame_of(told, ("phase", "seconds", "counts"))

    def pieces(self) -> list[str]:
        """RTO as a sentence, and a bar a phase."""
        run = self._desk.result.run
        bars = restore_charts.phases(run)
        told = timed(run) or "Nothing was measured."
        about = "What the drill does for itself is drawn as an outline, and not counted."
        return [
            fragments.sentence(told),
            *([fragments.phases(bars), fragments.sentence(about, "dim")] if bars else []),
        ]
