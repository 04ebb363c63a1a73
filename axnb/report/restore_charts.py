"""Geometry of the pictures of a restore: what was lost where, and how long each phase took.

The templates draw them as SVG. What is told by a colour is told by a shape too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from axnb.report.charts import strokes
from axnb.report.rehearsal_words import PHASES, as_time, rto_phases
from axnb.report.restore_view import STANDS, LostLine, LostView, in_words
from axnb.report.view import brief

#: Pixels: the names of the conversations, the longest line, the words after it, a line with what
#: stands above and below it, its bar, the widest step, and what is seen of the shortest range.
LABEL, LENGTH, REMARK, ROOM, BAR, STEP, LEAST = 190, 560, 250, 56, 14, 16, 4
_TOP = 22
_LABEL_COLUMNS = 24

#: Of a long conversation: the part of its line that shows what was restored and is not in question.
_QUIET_PART = 0.3

#: Pixels of the picture of phases.
PHASE_ROOM, PHASE_LABEL, PHASE_LENGTH = 26, 190, 460


@dataclass(frozen=True)
class Span:
    """A range of steps as a part of a line."""

    x: float
    width: float


@dataclass(frozen=True)
class Hatched:
    """A range that the restored log lacks: an outline, and strokes across it."""

    x: float
    width: float
    strokes: str


@dataclass(frozen=True)
class Number:
    """A step's number below a line."""

    x: float
    text: str


@dataclass(frozen=True)
class Diamond:
    """A call; open where its outcome is not known."""

    x: float
    is_known: bool
    words: str


@dataclass(frozen=True)
class Drawn:
    """One conversation as a line of steps."""

    label: str
    words: str
    y: int
    #: Where the highest number lies that anybody knows.
    end: float
    restored: Span | None
    #: Where the line leaves steps out; None where it is to scale.
    gap: float | None
    lost: tuple[Hatched, ...]
    twice: tuple[Span, ...]
    coming: tuple[Span, ...]
    calls: tuple[Diamond, ...]
    cut: float | None
    numbers: tuple[Number, ...]
    #: How its snapshots stand, where they do not fit.
    remark: str


@dataclass(frozen=True)
class LostPicture:
    """The conversations below each other."""

    width: int
    height: int
    words: str
    lines: tuple[Drawn, ...]


def lost_picture(looked: LostView) -> LostPicture | None:
    """The picture; None where no conversation has anything to show."""
    if not looked.lines:
        return None
    return LostPicture(
        width=LABEL + LENGTH + REMARK,
        height=len(looked.lines) * ROOM + 8,
        words=" ".join(f"{in_words(line)}." for line in looked.lines),
        lines=tuple(_drawn(line, n * ROOM + _TOP) for n, line in enumerate(looked.lines)),
    )


def _drawn(line: LostLine, y: int) -> Drawn:
    place, gap = _scale(line)

    def span(first: int, last: int) -> Span:
        start = place(first - 1)
        return Span(start, round(max(place(last) - start, LEAST), 1))

    lost = [span(*of) for of in line.lost]
    return Drawn(
        label=brief(line.conversation_id, _LABEL_COLUMNS) or "(empty)",
        words=in_words(line),
        y=y,
        end=place(line.last),
        restored=span(1, line.restored) if line.restored else None,
        gap=gap,
        lost=tuple(Hatched(of.x, of.width, strokes(of.x, y, of.width, BAR)) for of in lost),
        twice=tuple(span(*of) for of in line.twice),
        coming=tuple(span(*of) for of in line.coming),
        calls=tuple(_diamonds(line, place)),
        cut=place(line.cut) if line.cut is not None else None,
        numbers=tuple(_numbers(line, place)),
        remark=""
        if line.relation in ("", "fits")
        else f"snapshot: {STANDS.get(line.relation, '?')}",
    )


def _diamonds(line: LostLine, place: Callable[[int], float]) -> Iterator[Diamond]:
    """The calls of a step as one; where one outcome is not known, that is what is seen."""
    for step, calls in groupby(line.calls, key=lambda call: call.step):
        every = list(calls)
        yield Diamond(
            x=round((place(step - 1) + place(step)) / 2, 1),
            is_known=all(call.is_known for call in every),
            words=f"step {step}: {'; '.join(call.words for call in every)}",
        )


def _scale(line: LostLine) -> tuple[Callable[[int], float], float | None]:
    """Where the end of a step lies. A long conversation keeps most of its line for what is in
    question; the place where it is not to scale is given besides."""
    last, quiet = max(line.last, 1), line.first - 1
    if last * STEP <= LENGTH:
        return (lambda step: float(LABEL + step * STEP)), None
    if quiet >= last or quiet / last <= _QUIET_PART:
        return (lambda step: round(LABEL + LENGTH * step / last, 1)), None
    head = LENGTH * _QUIET_PART

    def place(step: int) -> float:
        if step <= quiet:
            return round(LABEL + head * step / quiet, 1)
        return round(LABEL + head + (LENGTH - head) * (step - quiet) / (last - quiet), 1)

    return place, round(LABEL + head / 2, 1)


def _numbers(line: LostLine, place: Callable[[int], float]) -> list[Number]:
    """The ends of a line, and where what was restored and the source end, if there is room."""
    found = [Number(round((place(0) + place(1)) / 2, 1), "1")]
    for step in dict.fromkeys((line.last, line.restored, line.source or 0)):
        x = round((place(step - 1) + place(step)) / 2, 1) if step else 0
        room = 9 + 7 * len(f"{step:,}")
        if step > 1 and all(abs(x - other.x) > room for other in found):
            found.append(Number(x, f"{step:,}"))
    # The mark of a snapshot stands there, too.
    cut = None if line.cut is None else place(line.cut)
    return [one for one in found if cut is None or abs(one.x - cut) > 9 + 4 * len(one.text)]


# --- how long it took ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Phase:
    """How long one phase took."""

    title: str
    told: str
    y: int
    length: int
    #: Does a recovery have to go through it, or is it the drill's own?
    counts: bool


def phases(run: Mapping[str, Any]) -> list[Phase]:
    """A bar a phase, in order and to one scale; nothing for a run without phases."""
    every = run.get("phases")
    if not isinstance(every, Mapping):
        return []
    counted = rto_phases(run)
    found = {n: s for n, s in every.items() if isinstance(s, (int, float)) and s >= 0}
    most = max(found.values(), default=0) or 1
    return [
        Phase(
            title=brief(PHASES.get(name, str(name)), 26),
            told=as_time(seconds),
            y=n * PHASE_ROOM,
            length=max(2, round(PHASE_LENGTH * seconds / most)),
            counts=name in counted,
        )
        for n, (name, seconds) in enumerate(list(found.items())[:24])
    ]
