"""A migration drill: how it was asked, the compatibility matrix, what becomes of each conversation,
and what an operator does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from axnb.ax.versions import resolve
from axnb.drills.migration.options import TARGETS
from axnb.lab import fragments
from axnb.lab.choice import ChosenView, read_pieces
from axnb.lab.desk import RehearsalDesk
from axnb.lab.fragments import Column
from axnb.lab.frames import frame_of
from axnb.lab.rehearsal import ShownView
from axnb.lab.view import View
from axnb.report import matrix_charts
from axnb.report.matrix_view import GROUPS, MatrixView, label
from axnb.report.migration_view import Fate, MigrationView
from axnb.report.rehearsal_words import as_it_is, as_migrated
from axnb.text import count

if TYPE_CHECKING:
    import pandas
    from ipywidgets import DOMWidget

_ALL = "all"
_MOST_SHOWN = 40
_NOTHING = "The result holds no migration."

_MATRIX_FRAME = ("group", "rows_of", "conversations", "version", "outcome", "words")
_FATES = (
    *(Column("conversation", "id"), Column("rows of"), Column("owner", "id")),
    *(Column("as it is"), Column("its server did"), Column("migrated"), Column("its server did")),
    Column("stays after a rollback"),
)
_FATES_FRAME = (
    *("conversation_id", "generations", "state", "owner", "owner_after", "before", "before_does"),
    *("after", "after_does", "damages"),
)
_LOSSES = (Column("path", "id"), Column("times", "number"), Column("accepted"))
_LEFT = (Column("conversation", "id"), Column("step", "number"), Column("why"))


class MigrationChoiceView(ChosenView):
    """The parameters of a migration drill, and what was read; with a person, a way to run again."""

    _desk: RehearsalDesk

    _load = ("Run the drill", "Run it anew with what is chosen here")
    _stop = "Stop the drill; what is shown stays"
    _lists = ("ax_bin", "harnesses", "accept_loss")
    _exact = ()

    def _sources(self) -> list[str]:
        return read_pieces(self._desk.sources)

    def _fields(self) -> dict[str, Any]:
        from axnb.lab import controls

        chosen = self._chosen
        joined = {name: ", ".join(chosen[name]) for name in self._lists}
        targets = [(label(name), name) for name in TARGETS]
        return {
            "source": controls.text("Source", chosen["source"], "a path or a variable", "24rem"),
            "to": controls.choice("To", targets, resolve(chosen["to"]).name),
            "harnesses": controls.text("Harnesses", joined["harnesses"], "ID=refuses, …"),
            "default_harness": controls.text(
                "Default owner", chosen["default_harness"], "the first harness", "18rem"
            ),
            "accept_loss": controls.text("May be lost", joined["accept_loss"], "PATH, …"),
            "ax_bin": controls.text("Real ax", joined["ax_bin"], "PATH, …", "18rem"),
        }


class CompatibilityView(View):
    """What every AX version makes of the rows of every generation, and of this log."""

    _desk: RehearsalDesk

    def __init__(self, desk: RehearsalDesk) -> None:
        super().__init__(desk)
        self._group = _ALL

    def _matrix(self) -> MatrixView | None:
        """The rows that are chosen."""
        looked = self._desk.migration
        if looked is None:
            return None
        matrix = looked.matrix
        groups = GROUPS if self._group == _ALL else [self._group]
        return MatrixView(matrix.target, matrix.versions, matrix.of(*groups), matrix.more)

    @property
    def frame(self) -> pandas.DataFrame:
        """A row a cell: which conversations, under which version, and what becomes of them."""
        matrix = self._matrix()
        told = (
            {
                "group": GROUPS[row.group],
                "rows_of": row.name,
                "conversations": row.conversations,
                "version": cell.version,
                "outcome": cell.kind,
                "words": cell.words,
            }
            for row in (matrix.rows if matrix else ())
            for cell in row.cells
        )
        return frame_of(told, _MATRIX_FRAME)

    def pieces(self) -> list[str]:
        """What the target does, the picture, and the same in words."""
        result = self._desk.result
        if self._desk.migration is None:
            return [fragments.sentence(_NOTHING)]
        told = [as_it_is(result), as_migrated(result)]
        return [*map(fragments.sentence, told), *self._drawn()]

    def _drawn(self) -> list[str]:
        matrix = self._matrix()
        if matrix is None or not matrix.rows:
            return [fragments.sentence("No row fits.")]
        heads = [f"{v.name}, the target" if v.is_target else v.name for v in matrix.versions]
        rows = [
            (
                row.label,
                row.conversations,
                *(f"{cell.sign} {cell.words}" for cell in row.cells),
            )
            for row in matrix.rows
        ]
        columns = (Column("rows"), Column("conversations", "number"), *map(Column, heads))
        remark = f"{matrix.more:,} more rows in result.json." if matrix.more else ""
        return [
            fragments.compatibility(matrix_charts.matrix_picture(matrix)),
            *([fragments.sentence(matrix.ways(), "dim")] if matrix.ways() else []),
            fragments.table("The same in words", columns, rows, remark),
        ]

    def widget(self) -> DOMWidget:
        """A filter of rows, and the picture."""
        from axnb.lab import controls

        group = controls.choice("Rows", [("all", _ALL), *((t, name) for name, t in GROUPS.items())])
        shown = controls.html()

        def show() -> None:
            shown.value = fragments.page(*self.pieces())

        def filtered(_: Any = None) -> None:
            self._group = group.value or _ALL
            show()

        said = partial(controls.callback, self._desk.lock, shown)
        self._refresh = said(show)
        group.observe(said(filtered), "value")
        self._desk.on_case(said(show))
        self._refresh()
        return controls.column(controls.row(group), shown)


#: What a person looks for among the conversations.
_OUTCOMES: Sequence[tuple[str, Callable[[Fate], bool]]] = (
    ("all", lambda fate: True),
    ("not well as it is", lambda fate: fate.outcomes[0] != "works"),
    ("not well migrated", lambda fate: fate.outcomes[1] != "works"),
    ("interrupted", lambda fate: fate.state == "interrupted"),
    ("another owner", lambda fate: fate.owner != fate.owner_after),
)
_DAMAGES: Sequence[tuple[str, Callable[[Fate], bool]]] = (
    ("all", lambda fate: True),
    ("without a migration", lambda fate: any(d.startswith("unm") for d in fate.damages)),
    ("with a migration", lambda fate: any(d.startswith("m") for d in fate.damages)),
    ("none", lambda fate: not fate.damages),
)


class FatesView(View):
    """What becomes of each conversation: as it is, migrated, and after a rollback."""

    _desk: RehearsalDesk

    def __init__(self, desk: RehearsalDesk) -> None:
        super().__init__(desk)
        self._outcome = self._damage = _ALL
        self._within = ""

    def _fitting(self) -> list[Fate]:
        looked = self._desk.migration
        fits, stays = dict(_OUTCOMES)[self._outcome], dict(_DAMAGES)[self._damage]
        return [
            fate
            for fate in (looked.fates if looked else ())
            if fits(fate) and stays(fate) and self._within in fate.conversation_id
        ]

    @property
    def frame(self) -> pandas.DataFrame:
        """A row a conversation, as filtered."""
        told = (
            {
                **{name: getattr(fate, name) for name in _FATES_FRAME},
                "damages": "; ".join(fate.damages),
            }
            for fate in self._fitting()
        )
        return frame_of(told, _FATES_FRAME)

    def pieces(self) -> list[str]:
        """The conversations that fit, the worst first."""
        fitting = self._fitting()
        if not fitting:
            return [fragments.sentence("No conversation fits.")]
        left = len(fitting) - _MOST_SHOWN
        remark = f"{_MOST_SHOWN} of {len(fitting):,} are shown; frame has all." if left > 0 else ""
        told = f"{count(len(fitting), 'conversation')}, the worst first. What a server did is with "
        told += "an empty request; with a new input."
        rows = map(_fate_row, fitting[:_MOST_SHOWN])
        return [fragments.table(told, _FATES, rows, remark)]

    def widget(self) -> DOMWidget:
        """Filters, and what fits them."""
        from axnb.lab import controls

        outcome = controls.choice("Outcome", [(name, name) for name, _ in _OUTCOMES])
        damage = controls.choice("Stays after a rollback", [(name, name) for name, _ in _DAMAGES])
        within, shown = controls.text("Id contains"), controls.html()

        def show() -> None:
            shown.value = fragments.page(*self.pieces())

        def filtered(_: Any = None) -> None:
            self._outcome, self._damage = outcome.value or _ALL, damage.value or _ALL
            self._within = within.value
            show()

        said = partial(controls.callback, self._desk.lock, shown)
        self._refresh = said(show)
        for control in (outcome, damage, within):
            control.observe(said(filtered), "value")
        self._desk.on_case(said(show))
        self._refresh()
        return controls.column(controls.row(outcome, damage, within), shown)


def _fate_row(fate: Fate) -> tuple[str, ...]:
    owner, after = fate.owner or "nobody", fate.owner_after or "nobody"
    return (
        fate.conversation_id or "(empty)",
        f"{fate.generations or '–'}; {fate.state}",
        owner if fate.owner == fate.owner_after else f"{owner} → {after}",
        *(fate.before, fate.before_does, fate.after, fate.after_does),
        "; ".join(fate.damages) or "–",
    )


class MigrationPlanView(ShownView):
    """What the migration does with the rows, what it loses, and what an operator does."""

    @property
    def frame(self) -> pandas.DataFrame:
        """A row a path of which the target has no place for what stands there."""
        losses = self._desk.migration.became.losses if self._desk.migration else ()
        told = ({"path": x.path, "times": x.times, "accepted": x.accepted} for x in losses)
        return frame_of(told, ("path", "times", "accepted"))

    def pieces(self) -> list[str]:
        """Rows, owners and losses; then the plan."""
        looked = self._desk.migration
        if looked is None:
            return [fragments.sentence(_NOTHING)]
        plan = self._desk.result.plan
        told = "Ordered statements with stops, each with its undo. Nothing of it was run."
        return [*_became(looked), *([fragments.plan(told, plan)] if plan else [])]

    def text(self) -> str:
        """The plan, for who sees no HTML."""
        return self._desk.result.plan or _NOTHING


def _became(looked: MigrationView) -> list[str]:
    became = looked.became
    told = [fragments.sentence(sentence) for sentence in became.sentences]
    if became.losses:
        rows = [(x.path, f"{x.times:,}", "yes" if x.accepted else "✗ no") for x in became.losses]
        remark = f"{became.more_losses:,} more in result.json." if became.more_losses else ""
        caption = f"{looked.target} has no place for what stands at these paths"
        told.append(fragments.table(caption, _LOSSES, rows, remark))
    if became.left:
        remark = f"{became.more_left:,} more in result.json." if became.more_left else ""
        caption = "Rows that stay as they are: who wrote them cannot decode them either"
        told.append(fragments.table(caption, _LEFT, became.left, remark))
    return told
