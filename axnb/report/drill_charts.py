"""Geometry of a drill's pictures: the matrix of verdicts, and what happened at one point.

The templates draw them as SVG, never with colour alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from axnb.report.drill_view import DrillView, Entry, Point, Policy, StepView
from axnb.report.drill_words import cell_words
from axnb.report.view import brief
from axnb.result import Verdict
from axnb.text import count

#: Pixels of the matrix: a cell, the names of the points, the heads of the columns, and the room
#: between two policies.
CELL, MATRIX_LABEL, MATRIX_HEAD, MATRIX_GAP = 30, 250, 96, 26
_LABEL_COLUMNS = 34

#: Pixels of a timeline: the names of the lanes, a lane, the place of one mark, and the numbers.
LANE_LABEL, LANE_ROOM, MARK_ROOM, LANE_HEAD = 86, 32, 38, 34

#: Who takes part, from the outside to the inside.
_LANES = ("client", "server", "actor", "tool", "watchdog", "drill")

#: Marks that go through all lanes.
_ACROSS = ("kill", "resume")


@dataclass(frozen=True)
class Cell:
    """A verdict on the matrix."""

    verdict: Verdict
    x: int
    y: int
    words: str


@dataclass(frozen=True)
class Label:
    """A text on a picture."""

    text: str
    x: int
    y: int
    #: Of a policy: its verdict.
    verdict: Verdict = "ok"
    sign: str = ""


@dataclass(frozen=True)
class Matrix:
    """Points as rows, checks as columns; the policies side by side."""

    width: int
    height: int
    #: The matrix in words, for who cannot see it.
    words: str
    policies: tuple[Label, ...]
    checks: tuple[Label, ...]
    points: tuple[Label, ...]
    cells: tuple[Cell, ...]
    #: Tops of the rows, and where they begin and end.
    rules: tuple[int, ...]


def matrix(looked: DrillView) -> Matrix:
    """The matrix of all policies; a cell for each check at each point."""
    rows = _rows(looked.policies)
    step = len(looked.checks) * CELL + MATRIX_GAP
    lefts = [MATRIX_LABEL + n * step for n in range(len(looked.policies))]
    bottom = MATRIX_HEAD + len(rows) * CELL
    return Matrix(
        width=MATRIX_LABEL + len(lefts) * step + 30,
        height=bottom + 6,
        words=" ".join(_in_words(policy) for policy in looked.policies),
        policies=tuple(
            Label(brief(p.name, 24), left, 18, p.verdict, p.sign)
            for p, left in zip(looked.policies, lefts, strict=True)
            if p.name
        ),
        checks=tuple(
            Label(brief(word, 12), left + n * CELL + CELL // 2, MATRIX_HEAD - 8)
            for left in lefts
            for n, word in enumerate(looked.columns)
        ),
        points=tuple(
            Label(brief(f"{name}  {short}".rstrip(), _LABEL_COLUMNS), 0, _middle(n))
            for n, (name, short) in enumerate(rows.items())
        ),
        cells=tuple(
            cell
            for policy, left in zip(looked.policies, lefts, strict=True)
            for cell in _cells(policy, looked.checks, list(rows), left)
        ),
        rules=tuple(MATRIX_HEAD + n * CELL for n in range(len(rows) + 1)),
    )


def _rows(policies: Sequence[Policy]) -> dict[str, str]:
    """The points of all policies, each with what it is called."""
    found: dict[str, str] = {}
    for policy in policies:
        for point in policy.points:
            found[point.name] = found.get(point.name) or point.short
    return found


def _middle(row: int) -> int:
    return MATRIX_HEAD + row * CELL + CELL // 2


def _cells(policy: Policy, checks: Sequence[str], rows: Sequence[str], left: int) -> list[Cell]:
    by_name = {point.name: point for point in policy.points}
    return [
        Cell(
            "not-run" if step is None else step.verdict,
            left + n * CELL + CELL // 2,
            _middle(row),
            f"{policy.name} ".lstrip() + cell_words(point, check, step),
        )
        for row, name in enumerate(rows)
        if (point := by_name.get(name)) is not None
        for n, (check, step) in enumerate(zip(checks, point.steps, strict=True))
    ]


def _in_words(policy: Policy) -> str:
    """`ax: 8 failed, 48 ok.`"""
    found = Counter(_verdict(step) for point in policy.points for step in point.steps)
    told = ", ".join(f"{n:,} {verdict}" for verdict, n in found.most_common())
    return f"{policy.name or 'All'}: {told or 'no check'}."


def _verdict(step: StepView | None) -> str:
    return "not-run" if step is None else step.verdict


# --- a timeline ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimelineMark:
    """What one of those who took part did, on its lane."""

    mark: str
    x: int
    y: int


@dataclass(frozen=True)
class Across:
    """An interruption, or that somebody brought back what was stopped: through all lanes."""

    mark: str
    x: int


@dataclass(frozen=True)
class TimelinePicture:
    """What happened at one point, from left to right, a lane for each who took part."""

    #: Different on one page for each picture.
    id: str
    title: str
    words: str
    width: int
    height: int
    lanes: tuple[Label, ...]
    numbers: tuple[Label, ...]
    marks: tuple[TimelineMark, ...]
    across: tuple[Across, ...]
    #: Lines from mark to mark, between two interruptions.
    ways: tuple[str, ...]


def timeline(point: Point, identity: str) -> TimelinePicture | None:
    """The picture of a point; None where nothing is told of it."""
    if not point.timeline:
        return None
    lanes = _lanes(point.timeline)
    marks = [_mark(entry, lanes) for entry in point.timeline if _is_on_lane(entry)]
    told = ". ".join(f"{e.number}: {e.who} {e.what}" for e in point.timeline)
    name = f"{point.policy} at point {point.name}" if point.policy else f"point {point.name}"
    return TimelinePicture(
        id=identity,
        title=f"What happened: {name}",
        words=f"{count(len(point.timeline), 'event')} from left to right. {told}.",
        width=LANE_LABEL + len(point.timeline) * MARK_ROOM + 10,
        height=LANE_HEAD + len(lanes) * LANE_ROOM + 6,
        lanes=tuple(Label(who, 0, y) for who, y in lanes.items()),
        numbers=tuple(Label(str(e.number), _x(e), 12) for e in point.timeline),
        marks=tuple(marks),
        across=tuple(Across(e.mark, _x(e)) for e in point.timeline if e.mark in _ACROSS),
        ways=tuple(_ways(point.timeline, lanes)),
    )


def _lanes(entries: Sequence[Entry]) -> dict[str, int]:
    """The middle of the lane of each who did something in a place of its own."""
    there = dict.fromkeys(e.who for e in entries if _is_on_lane(e))
    known = [who for who in _LANES if who in there]
    names = [*known, *(who for who in there if who not in _LANES)]
    return {who: LANE_HEAD + n * LANE_ROOM + LANE_ROOM // 2 for n, who in enumerate(names)}


def _is_on_lane(entry: Entry) -> bool:
    """An interruption goes through all lanes; who resumes does so from a lane, unless the drill."""
    return entry.mark not in _ACROSS or (entry.mark == "resume" and entry.who != "drill")


def _mark(entry: Entry, lanes: Mapping[str, int]) -> TimelineMark:
    kind = "input" if entry.mark == "resume" else entry.mark
    return TimelineMark(kind, _x(entry), lanes[entry.who])


def _x(entry: Entry) -> int:
    return LANE_LABEL + (entry.number - 1) * MARK_ROOM + MARK_ROOM // 2


def _ways(entries: Sequence[Entry], lanes: Mapping[str, int]) -> list[str]:
    """The lines as paths of SVG; one ends at an interruption."""
    ways: list[list[str]] = [[]]
    for entry in entries:
        if entry.mark in _ACROSS:
            ways.append([])
        if _is_on_lane(entry):
            ways[-1].append(f"{_x(entry)} {lanes[entry.who]}")
    return [f"M{'L'.join(way)}" for way in ways if len(way) > 1]
