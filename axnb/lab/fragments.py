"""Pieces of HTML for a notebook: escaped, of bounded size, and the same in every view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from axnb.errors import AxnbError
from axnb.report import charts, drill_charts, matrix_charts, matrix_view, restore_charts
from axnb.report.html import environment
from axnb.result import SIGNS, Result

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule


@dataclass(frozen=True)
class Column:
    """A column of a table: its label, and whether it holds ids or numbers."""

    label: str
    kind: str = ""


@cache
def _module() -> TemplateModule:
    return environment("axnb.lab", "axnb.report").get_template("fragments.html.j2").module


def _render(name: str, *values: Any) -> str:
    return str(getattr(_module(), name)(*values))


def page(*pieces: str) -> str:
    """Pieces as one output, with the style that they need."""
    from markupsafe import Markup

    # The pieces were escaped when they were made.
    body = Markup("").join(Markup(piece) for piece in pieces)  # noqa: S704
    return _render("style") + _render("page", body)


def sentence(text: str, kind: str = "") -> str:
    """One sentence; `kind` is a verdict, a severity or `dim`."""
    return _render("sentence", text, kind)


def status(text: str, kind: str = "dim") -> str:
    """A sentence that changes while somebody looks on: a screen reader says it."""
    return _render("status", text, kind)


def failure(err: Exception) -> str:
    """Why something was not done. Only what axnb raises on purpose may be repeated: the message of
    any other error can hold a payload."""
    if isinstance(err, AxnbError):
        return status(f"✗ {err}", "failed")
    told = f"could not go on ({type(err).__name__}); this is a fault of axnb."
    return status(f"✗ {told}", "failed")


def heading(text: str) -> str:
    """A heading below the one of the cell."""
    return _render("heading", text)


def verdict(result: Result) -> str:
    """The verdict, why, and how many conversations need what, or snapshots give back what."""
    sign, title = SIGNS[result.verdict], charts.BAR_TITLES.get(result.drill, "")
    return _render("verdict", result, sign, charts.bars(result.actions), title, charts)


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]], remark: str = ""
) -> str:
    """A table under one sentence; `remark` says what is not shown."""
    return _render("table", caption, columns, list(rows), remark)


def timeline(
    title: str,
    about: str,
    lines: Sequence[dict[str, Any]],
    remarks: Sequence[dict[str, str]],
    advice: Sequence[str],
) -> str:
    """The rows of one conversation, what is wrong with it, and what to do."""
    return _render("timeline", title, about, lines, remarks, advice)


def matrix(picture: drill_charts.Matrix) -> str:
    """The matrix of a drill as a picture."""
    return _render("matrix", picture, drill_charts)


def happened(picture: drill_charts.TimelinePicture) -> str:
    """What happened at one point of a drill, as a picture."""
    return _render("happened", picture, drill_charts)


def lost(picture: restore_charts.LostPicture) -> str:
    """What a restore loses of each conversation, as a picture."""
    return _render("lost", picture, restore_charts)


def phases(bars: Sequence[restore_charts.Phase]) -> str:
    """How long each phase of a drill took, as a picture."""
    return _render("phases", bars, restore_charts)


def compatibility(picture: matrix_charts.MatrixPicture) -> str:
    """What every AX version makes of the rows of every generation, as a picture."""
    return _render("compatible", picture, matrix_charts, matrix_view.MEANS)


def plan(caption: str, text: str) -> str:
    """What an operator could run, as text."""
    return _render("plan", caption, text)


def payload(caption: str, text: str | None, note: str = "") -> str:
    """What is known of a payload, and the payload itself where a person asked for it."""
    return _render("payload", caption, text, note)
