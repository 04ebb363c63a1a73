"""What a restore would lose of each conversation, ready for a picture and a table: the worst first.

It comes from the answer of a restore drill, `axnb.restore-drill/1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axnb.report.view import brief
from axnb.result import Result

SCHEMA = "axnb.restore-drill/1"

#: Conversations that are shown, ranges of one, and calls of one.
MOST_LINES, MOST_RANGES, MOST_CALLS = 40, 12, 12

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Called:
    """A call of the part that a restore gives up."""

    step: int
    words: str
    is_known: bool


@dataclass(frozen=True)
class LostLine:
    """One conversation: what the restored log has of it, and what it has not."""

    conversation_id: str
    #: Its last step in the restored log, and in the source; None where no source tells.
    restored: int
    source: int | None
    lost: Ranges
    twice: Ranges
    #: Numbers that somebody remembers and that will be handed out again.
    coming: Ranges
    who: tuple[str, ...]
    calls: tuple[Called, ...]
    #: The newest consistent cut: how log and bucket stand, and after which step.
    relation: str
    cut: int | None

    @property
    def last(self) -> int:
        """The highest number that anybody knows."""
        ends = [last for of in (self.lost, self.twice, self.coming) for _, last in of]
        steps = [call.step for call in self.calls]
        return max([self.restored, self.source or 0, self.cut or 0, *ends, *steps])

    @property
    def first(self) -> int:
        """The first number of which there is something to say."""
        starts = [first for of in (self.lost, self.twice, self.coming) for first, _ in of]
        steps = [call.step for call in self.calls]
        return min([self.restored + 1, *starts, *steps, *([self.cut] if self.cut else [])])


@dataclass(frozen=True)
class LostView:
    """The conversations that would lose something, or whose numbers come again."""

    lines: tuple[LostLine, ...]
    more: int = 0


def lost_view(result: Result) -> LostView | None:
    """What a restore would lose; None for another drill, and where nothing was restored."""
    if result.answer.get("schema") != SCHEMA or not result.measures.get("rows"):
        return None
    more = len(result.answer["conversations"]) - MOST_LINES
    return LostView(tuple(lost_lines(result, MOST_LINES)), max(0, more))


def lost_lines(result: Result, most: int | None = None) -> list[LostLine]:
    """The conversations that would lose something, the worst first; none for another drill."""
    answer = result.answer
    if answer.get("schema") != SCHEMA:
        return []
    again: dict[str, list[Mapping[str, Any]]] = {}
    for pointer in answer["again"]:
        again.setdefault(pointer["conversation_id"], []).append(pointer)
    told = [(one, again.get(one["conversation_id"], ())) for one in answer["conversations"]]
    told.sort(key=lambda both: _badness(*both))
    return [_line(*both) for both in told[:most]]


def _badness(
    told: Mapping[str, Any], again: Sequence[Mapping[str, Any]]
) -> tuple[int, int, int, str]:
    past, future = _numbers(again, twice=True), _numbers(again, twice=False)
    calls = sum(len(pointer["calls"]) for pointer in again)
    size = _size((*joined(told["lost"]), *joined(future)))
    return -_size(joined(past)), -calls, -size, told["conversation_id"]


def _numbers(again: Sequence[Mapping[str, Any]], *, twice: bool) -> list[Sequence[int]]:
    return [of for pointer in again if pointer["twice"] is twice for of in pointer["steps"]]


def _size(ranges: Iterable[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _line(told: Mapping[str, Any], again: Sequence[Mapping[str, Any]]) -> LostLine:
    twice = joined(_numbers(again, twice=True))
    cut = told["cut"] or {}
    return LostLine(
        conversation_id=told["conversation_id"],
        restored=told["restored"],
        source=told["source"],
        lost=joined(told["lost"])[:MOST_RANGES],
        twice=twice[:MOST_RANGES],
        coming=without(joined(_numbers(again, twice=False)), twice)[:MOST_RANGES],
        who=tuple(dict.fromkeys(brief(pointer["who"], 60) for pointer in again)),
        calls=tuple(_calls(again))[:MOST_CALLS],
        relation=str(cut.get("relation") or ""),
        cut=cut.get("step"),
    )


def _calls(again: Sequence[Mapping[str, Any]]) -> Iterable[Called]:
    found: dict[tuple[Any, ...], Called] = {}
    for call in (call for pointer in again for call in pointer["calls"]):
        if call["step"] is not None:
            operation = brief(call["operation_id"], 40) or "(no id)"
            words = f"{brief(call['tool'], 40)} {operation}, {brief(call['outcome'], 40)}"
            called = Called(call["step"], words, call["outcome"] != "unknown")
            found.setdefault((call["step"], words), called)
    return sorted(found.values(), key=lambda call: (call.step, call.words))


def joined(ranges: Iterable[Sequence[int]]) -> Ranges:
    """Ranges in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted((of[0], of[1]) for of in ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def without(ranges: Ranges, others: Ranges) -> Ranges:
    """What of some ranges is in no other; both as `joined` gives them."""
    left: list[tuple[int, int]] = []
    for first, last in ranges:
        at = first
        for start, end in others:
            if end < at or start > last:
                continue
            if start > at:
                left.append((at, start - 1))
            at = end + 1
        if at <= last:
            left.append((at, last))
    return tuple(left)


def in_words(line: LostLine) -> str:
    """A conversation as a sentence, for who cannot see the picture."""
    told = [f"restored to step {line.restored:,}" if line.restored else "not restored at all"]
    told += [f"lost {steps(line.lost)}"] if line.lost else []
    told += [f"handed out twice {steps(line.twice)}"] if line.twice else []
    told += [f"will come again {steps(line.coming)}"] if line.coming else []
    told += [f"call at step {call.step:,}: {call.words}" for call in line.calls]
    told += [f"snapshot: {standing(line)}"] if line.relation else []
    return f"{brief(line.conversation_id, 80) or '(empty)'}: {'; '.join(told)}"


def steps(ranges: Ranges) -> str:
    """`7-12, 15`; a dash for none."""
    shown = [f"{a:,}" if a == b else f"{a:,}-{b:,}" for a, b in ranges]
    return ", ".join(shown) or "–"


#: How log and bucket stand, in words.
STANDS: Mapping[str, str] = {
    "fits": "fits the end of the log",
    "log-ahead": "the log is ahead of it",
    "snapshot-ahead": "it is ahead of the log",
    "unrecoverable": "none fits",
    "none": "there is none",
    "unknown": "nothing tells where it stands",
}


def standing(line: LostLine) -> str:
    """The cut of a conversation: `the log is ahead, cut at step 4`."""
    if not line.relation:
        return "–"
    told = STANDS.get(line.relation, brief(line.relation, 40))
    return told if line.cut is None else f"{told}, cut at step {line.cut:,}"
