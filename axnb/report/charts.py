"""Geometry of the report's pictures; the templates draw them as SVG, never with colour alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axnb.report.view import brief
from axnb.text import count

#: Pixels: of a bar and the room for it; of a lane, its label, and the place of one mark.
BAR_HEIGHT, BAR_ROOM, BAR_LABEL, BAR_LENGTH = 18, 28, 210, 520
LANE_ROOM, LANE_LABEL, MARK_ROOM = 28, 220, 15
_LABEL_COLUMNS = 28

#: The group of a map that holds conversations.
NO_SNAPSHOT = "no-good-snapshot"

#: What the bars of a result count.
BAR_TITLES: Mapping[str, str] = {
    "triage": "Conversations by what to do",
    "map": "Snapshots by what a restore gives back",
}


@dataclass(frozen=True)
class Bar:
    """How many conversations or snapshots are in one group."""

    title: str
    action: str
    number: int
    y: int
    length: int


@dataclass(frozen=True)
class Mark:
    """A sign on a lane."""

    kind: str
    x: int
    wounded: bool


@dataclass(frozen=True)
class Lane:
    """One conversation as a line of signs."""

    label: str
    #: The lane in words, for who cannot see it.
    words: str
    y: int
    marks: tuple[Mark, ...]
    #: Where marks were left out, and how many; None where none were.
    gap: tuple[int, int] | None


def strokes(x: float, y: float, width: float, height: float) -> str:
    """Strokes at 45 degrees inside a box, as a path."""
    right, found, at = x + width, [], x - height + 5
    while at < right:
        x1, x2 = max(at, x), min(at + height, right)
        if x2 > x1:
            found.append(
                f"M{x1:.1f} {y + height - (x1 - at):.1f}L{x2:.1f} {y + height - (x2 - at):.1f}"
            )
        at += 6
    return "".join(found)


def bars(actions: Iterable[Mapping[str, Any]]) -> list[Bar]:
    """A bar an action, to one scale; what exists is at least two pixels long.

    Where groups hold snapshots, these are counted, and no conversations.
    """
    every = list(actions)
    groups = [group for group in every if "snapshots" in group] or [
        group for group in every if group["action"] != NO_SNAPSHOT
    ]
    most = max((group["count"] for group in groups), default=0) or 1
    return [
        Bar(
            title=group["title"],
            action=group["action"],
            number=group["count"],
            y=n * BAR_ROOM,
            length=max(2, round(BAR_LENGTH * group["count"] / most)),
        )
        for n, group in enumerate(groups)
    ]


def lines(lanes: Iterable[Mapping[str, Any]], *, several: bool = False) -> list[Lane]:
    """A line a conversation; marks that were left out leave a gap as wide as one mark.

    Where there are several logs, a conversation is named with its own.
    """
    return [_line(lane, n * LANE_ROOM, several) for n, lane in enumerate(lanes)]


def _line(lane: Mapping[str, Any], y: int, several: bool) -> Lane:
    marks: Sequence[Mapping[str, Any]] = lane["marks"]
    placed, gap = [], None
    for n, mark in enumerate(marks):
        left_out = mark["n"] - n - 1
        if left_out and gap is None:
            gap = (_x(n), left_out)
        at = n + (1 if left_out else 0)
        placed.append(Mark(mark["kind"], _x(at), bool(mark["wounds"])))
    label = f"{lane['source']}: " * several + lane["conversation_id"]
    return Lane(
        label=brief(label, _LABEL_COLUMNS),
        words=f"{brief(label, 80)}: {_words(marks, lane['total'])}",
        y=y,
        marks=tuple(placed),
        gap=gap,
    )


def _x(place: int) -> int:
    return LANE_LABEL + place * MARK_ROOM + MARK_ROOM // 2


def _words(marks: Sequence[Mapping[str, Any]], total: int) -> str:
    """`2 marks: input, call with AX110 AX203`."""
    told = [
        f"{mark['kind']} with {' '.join(mark['wounds'])}" if mark["wounds"] else mark["kind"]
        for mark in marks
    ]
    return f"{count(total, 'mark')}: {', '.join(told) or 'no row'}"
