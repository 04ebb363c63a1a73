"""Geometry of the compatibility matrix. A cell is told by a shape and a word, never by colour."""

from __future__ import annotations

from dataclasses import dataclass

from axnb.report.charts import strokes
from axnb.report.matrix_view import GROUPS, Cell, MatrixView, Row
from axnb.text import count, cut_middle

#: Pixels: the names of the rows, a column, a row, the head of the columns, that of a group.
LABEL, COLUMN, ROOM, HEAD, GROUP = 232, 84, 48, 46, 32

#: The box of a cell that loses something, and the least that is seen of a loss.
BOX, _LEAST = 20, 5
_LABEL_COLUMNS = 24


@dataclass(frozen=True)
class Told:
    """A text of the picture."""

    x: int
    y: int
    text: str


@dataclass(frozen=True)
class Drawn:
    """A cell: its shape in the middle of (x, y), and a word below it."""

    x: int
    y: int
    kind: str
    short: str
    words: str
    #: Of a loss: where the hatched part begins, how high it is, and its strokes.
    top: float = 0
    height: float = 0
    strokes: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column."""

    x: int
    name: str
    release: str
    is_target: bool


@dataclass(frozen=True)
class Named:
    """The name of a row, and how many conversations it stands for."""

    y: int
    name: str
    about: str


@dataclass(frozen=True)
class MatrixPicture:
    """The matrix as shapes."""

    width: int
    height: int
    words: str
    heads: tuple[Head, ...]
    groups: tuple[Told, ...]
    names: tuple[Named, ...]
    cells: tuple[Drawn, ...]
    #: Where the target's column begins; None where it is none of them.
    target: int | None


def matrix_picture(looked: MatrixView) -> MatrixPicture:
    """Draw the matrix, its groups of rows below each other."""
    heads = tuple(
        Head(LABEL + n * COLUMN + COLUMN // 2, v.name, v.release, v.is_target)
        for n, v in enumerate(looked.versions)
    )
    groups: list[Told] = []
    names: list[Named] = []
    cells: list[Drawn] = []
    y = HEAD
    for group, title in GROUPS.items():
        rows = looked.of(group)
        if not rows:
            continue
        groups.append(Told(0, y + 21, title))
        y += GROUP
        for row in rows:
            names.append(_named(row, y + ROOM // 2))
            cells += [_drawn(cell, head.x, y) for cell, head in zip(row.cells, heads, strict=True)]
            y += ROOM
    marked = next((head.x for head in heads if head.is_target), None)
    return MatrixPicture(
        width=LABEL + len(heads) * COLUMN + 2,
        height=y + 6,
        words=" ".join(f"{_sentence(row)}." for row in looked.rows),
        heads=heads,
        groups=tuple(groups),
        names=tuple(names),
        cells=tuple(cells),
        target=None if marked is None else marked - COLUMN // 2,
    )


def _named(row: Row, y: int) -> Named:
    return Named(y, cut_middle(row.name, _LABEL_COLUMNS), count(row.conversations, "conversation"))


def _drawn(cell: Cell, x: int, top: int) -> Drawn:
    y = top + 16
    if cell.kind != "loses":
        return Drawn(x, y, cell.kind, cell.short, f"{cell.version}: {cell.words}")
    # What is whole only where all is lost is seen as such.
    most = BOX if cell.share >= 1 else BOX - 3
    height = round(min(most, max(_LEAST, BOX * cell.share)), 1)
    at = round(y + BOX / 2 - height, 1)
    path = strokes(x - BOX / 2, at, BOX, height)
    return Drawn(x, y, cell.kind, cell.short, f"{cell.version}: {cell.words}", at, height, path)


def _sentence(row: Row) -> str:
    told = "; ".join(f"{cell.version} {cell.words}" for cell in row.cells)
    return f"{GROUPS[row.group]}, {row.name}: {told}"
