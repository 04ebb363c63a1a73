"""A drill: how it was asked, the matrix, and one point with its timeline and its checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from axnb.lab import fragments
from axnb.lab.choice import ChosenView
from axnb.lab.desk import DrillDesk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.view import View
from axnb.report import drill_charts
from axnb.report.drill_view import Point, StepView
from axnb.report.drill_words import does, interrupted, reach

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_ALL = "all"
_NOTHING = "The drill has no step: nothing was checked."

_ABOUT = (Column("what"), Column("how"))
_EVENTS = (
    *(Column("event", "number"), Column("who"), Column("what")),
    Column("step of the log", "number"),
)
_CHECKS = (
    *(Column("check"), Column("verdict"), Column("expected"), Column("observed")),
    Column("evidence", "id"),
)
_CHECKS_FRAME = (
    *("policy", "point", "check", "verdict", "expected", "observed", "evidence", "runs"),
)


class DrillChoiceView(ChosenView):
    """The parameters of a drill, and what was interrupted; with a person, a place to run again."""

    _desk: DrillDesk

    _load = ("Run the drill", "Run it anew with what is chosen here")
    _stop = "Stop the drill; what is shown stays"
    _lists = ("policies",)
    _exact = ()

    def _sources(self) -> list[str]:
        told = [(name, sentence) for name, of in interrupted(self._desk.result) for sentence in of]
        return [fragments.table("What was interrupted, and how", _ABOUT, told)]

    def _fields(self) -> dict[str, Any]:
        from axnb.lab import controls

        chosen = self._chosen
        does_once = [("a known operation again", False), ("a known operation once", True)]
        versions = [(name, name) for name in ("G5", "G6", "G8")]
        asked = chosen["generation"]
        if asked not in dict(versions):
            versions.append((asked, asked))
        return {
            "policies": controls.text(
                "Policies", ", ".join(chosen["policies"]), "ax, requeue, read-before-retry", "24rem"
            ),
            "points": controls.text("Points", chosen["points"], "all; 1,3 or 1-4", "12rem"),
            "idempotent": controls.choice("The tool does", does_once, chosen["idempotent"]),
            "generation": controls.choice("Generation", versions, asked),
        }


class MatrixView(View):
    """The verdict of each check at each point, as a picture and as a table."""

    _desk: DrillDesk

    def __init__(self, desk: DrillDesk) -> None:
        super().__init__(desk)
        self._policy = _ALL

    def _points(self) -> list[Point]:
        policies = self._desk.drill.policies if self._desk.drill else ()
        return [p for of in policies if self._policy in (_ALL, of.name) for p in of.points]

    @property
    def frame(self) -> pandas.DataFrame:
        """A row a point, a column a check, with what became of the side effect."""
        drill = self._desk.drill
        checks = drill.checks if drill else ()
        about = ("effects", "class", "person", "why")
        columns = ("policy", "point", "title", *checks, *about)
        return frame_of((_record(point, checks) for point in self._points()), columns)

    def pieces(self) -> list[str]:
        """How far the verdict reaches, the picture, and the tables."""
        return [*self._picture(), *self._tables()]

    def _picture(self) -> list[str]:
        drill = self._desk.drill
        if drill is None:
            return [fragments.sentence(_NOTHING)]
        picture = fragments.matrix(drill_charts.matrix(drill))
        return [*map(fragments.sentence, reach(drill)), picture]

    def _tables(self) -> list[str]:
        drill = self._desk.drill
        told = []
        for policy in drill.policies if drill else ():
            if drill and self._policy in (_ALL, policy.name):
                does_what = f": {does(policy)}" if any(p.effect for p in policy.points) else ""
                caption = f"{policy.sign} {policy.name or 'All points'}{does_what}"
                told.append(_table(caption, drill.columns, policy.points))
        return told

    def widget(self) -> DOMWidget:
        """The picture, and the table of one policy or of all."""
        from axnb.lab import controls

        policy = controls.choice("Policy", self._policies())
        picture, tables = controls.html(), controls.html()

        def show() -> None:
            picture.value = fragments.page(*self._picture())
            filtered()

        def filtered(_: Any = None) -> None:
            self._policy = policy.value or _ALL
            tables.value = fragments.page(*self._tables())

        def opened() -> None:
            # The first of new options is chosen, which is all of them.
            policy.options = self._policies()
            show()

        said = partial(controls.callback, self._desk.lock, tables)
        self._refresh = said(show)
        policy.observe(said(filtered), "value")
        self._desk.on_case(said(opened))
        self._refresh()
        return controls.column(picture, controls.row(policy), tables)

    def _policies(self) -> list[tuple[str, str]]:
        names = dict.fromkeys(point.policy for point in self._desk.points.values())
        return [("all", _ALL), *((name, name) for name in names if name)]


def _table(caption: str, columns: Sequence[str], points: Iterable[Point]) -> str:
    heads = (
        *(Column("point"), *map(Column, columns)),
        *(Column("effects"), Column("a person")),
    )
    rows = [
        (
            f"{point.name}: {point.short}" if point.short else point.name,
            *(_cell(step) for step in point.steps),
            point.effect,
            "is needed" if point.needs_person else "",
        )
        for point in points
    ]
    return fragments.table(caption, heads, rows)


def _cell(step: StepView | None) -> str:
    if step is None:
        return "– no step"
    return f"{step.sign} {step.word} {f'({step.runs})' if step.runs else ''}".strip()


def _record(point: Point, checks: Sequence[str]) -> dict[str, Any]:
    words = (None if step is None else step.word for step in point.steps)
    return {
        **dict(zip(checks, words, strict=True)),
        "policy": point.policy,
        "point": point.name,
        "title": point.title,
        "effects": point.effects,
        "class": point.became or None,
        "person": point.needs_person,
        "why": point.why,
    }


class PointView(View):
    """One point: what happened, and what each check expected and observed."""

    _desk: DrillDesk

    @property
    def frame(self) -> pandas.DataFrame:
        """The checks of the chosen point, a row each."""
        point = self._desk.point
        steps = [] if point is None else [step for step in (*point.steps, point.reversal) if step]
        told = (
            {
                "policy": point.policy if point else "",
                "point": point.name if point else "",
                **{name: getattr(step, name) for name in ("check", "expected", "observed", "runs")},
                "verdict": step.word,
                "evidence": "; ".join(step.evidence),
            }
            for step in steps
        )
        return frame_of(told, _CHECKS_FRAME)

    def pieces(self) -> list[str]:
        """The timeline as a picture and in words, and the checks."""
        point = self._desk.point
        if point is None:
            return [fragments.sentence(_NOTHING)]
        told = [f"{point.policy} point {point.name}".strip(), point.title]
        head = f"{point.sign} {point.word}: {', '.join(filter(None, [*told, point.effect_words]))}"
        by = f"Interrupted by: {point.interruption}." if point.interruption else ""
        often = f"Repeated: {'; '.join(point.outcomes)}." if point.outcomes else ""
        picture = drill_charts.timeline(point, "timeline")
        events = [(e.number, e.who, e.what, e.step) for e in point.timeline]
        remark = f"{point.more:,} more events in result.json." if point.more else ""
        steps = [step for step in (*point.steps, point.reversal) if step]
        rows = [
            (s.check, _cell(s), s.expected, s.observed, "; ".join(s.evidence) or "–") for s in steps
        ]
        return [
            fragments.sentence(head, point.verdict),
            *(fragments.sentence(text) for text in (point.why, often, by) if text),
            *([fragments.happened(picture)] if picture else []),
            *([fragments.table("What happened", _EVENTS, events, remark)] if events else []),
            fragments.table("What was checked afterwards", _CHECKS, rows),
        ]

    def widget(self) -> DOMWidget:
        """The same of a point that a person chooses."""
        from axnb.lab import controls

        chosen = controls.choice("Policy and point", self._offered(), self._desk.chosen, "36rem")
        shown = controls.html()

        def show() -> None:
            shown.value = fragments.page(*self.pieces())

        def choose(change: Any) -> None:
            if change.new is not None and change.new in self._desk.points:
                self._desk.choose(change.new)
                show()

        def opened() -> None:
            wanted = self._desk.chosen
            # New options choose the first of them, which is nobody's choice.
            chosen.options = self._offered()
            if wanted is not None:
                chosen.value = wanted
            show()

        said = partial(controls.callback, self._desk.lock, shown)
        self._refresh = said(show)
        chosen.observe(said(choose), "value")
        self._desk.on_case(said(opened))
        self._refresh()
        return controls.column(controls.row(chosen), shown)

    def _offered(self) -> list[tuple[str, Any]]:
        return [
            (f"{p.sign} {f'{p.policy} {p.name}'.strip()}: {p.short or p.title}".rstrip(": "), key)
            for key, p in self._desk.points.items()
        ]
