"""What a restore gives up: steps, conversations and effects after the backup; numbers that come
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from axnb.drills.restore.comparing import Standing
from axnb.drills.restore.looking import Call, Looked, Other

#: Numbers of one conversation that are listed where only a cursor tells of them.
_MOST = 10_000


@dataclass(frozen=True)
class Pointer:
    """Somebody remembers numbers that a restored server hands out again, or that were handed out
    twice."""

    conversation_id: str
    steps: tuple[int, ...]
    #: `a client`, `--expect-last`, `the log`, `the tool of charge_card`
    who: str
    #: Were they given to something else already?
    is_past: bool = False
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Loss:
    """What the restored log lacks; None where nothing tells."""

    #: conversation -> numbers that the source has and the restored log has not, or has otherwise.
    steps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Further numbers, beyond those: nobody lists them all where a cursor is far away.
    beyond: int = 0
    #: Does the source itself tell, or a cursor alone, which knows the least that is missing?
    is_exact: bool = False
    is_known: bool = False
    gone: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    pointers: tuple[Pointer, ...] = ()

    @property
    def rpo_steps(self) -> int | None:
        """Steps that would be lost."""
        return sum(map(len, self.steps.values())) + self.beyond if self.is_known else None

    @property
    def rpo_conversations(self) -> int | None:
        """Conversations that would be lost as a whole."""
        return len(self.gone) if self.is_known else None

    @property
    def rpo_effects(self) -> int | None:
        """Effects that only the lost part tells of: calls with a logged result."""
        return sum(call.outcome != "unknown" for call in self.calls) if self.is_known else None

    @property
    def unknown_calls(self) -> int | None:
        """Calls of the lost part of which nobody knows whether they had an effect."""
        return sum(call.outcome == "unknown" for call in self.calls) if self.is_known else None


def find_loss(looked: Looked) -> Loss:
    """Hold the restored log against its source, or against what others remember."""
    steps: dict[str, tuple[int, ...]] = {}
    if looked.source is not None:
        steps = {
            key: lost
            for key, standing in looked.source.standings.items()
            if (lost := _lost(standing))
        }
    beyond = 0
    for key, (last, _) in looked.cursors.items():
        known = max(looked.last_step(key), max(steps.get(key, ()), default=0))
        if last > known:
            steps[key] = (*steps.get(key, ()), *_after(known, last))
            beyond += max(0, last - known - _MOST)
    return Loss(
        steps=steps,
        beyond=beyond,
        is_exact=looked.source is not None,
        is_known=looked.source is not None or bool(steps) or looked.seal is not None,
        gone=tuple(sorted(key for key in steps if key not in looked.extents)),
        calls=_lost_calls(looked, steps),
        pointers=tuple(_pointers(looked, steps)),
    )


def _after(known: int, last: int) -> range:
    """The numbers after `known`, up to `last`, or as many of them as are listed."""
    return range(known + 1, min(last, known + _MOST) + 1)


def _lost(standing: Standing) -> tuple[int, ...]:
    return tuple(sorted({*standing.missing, *standing.twice}))


def _lost_calls(looked: Looked, steps: Mapping[str, tuple[int, ...]]) -> tuple[Call, ...]:
    if looked.source is None:
        return ()
    return tuple(_calls_in(looked.source.calls, steps))


def _calls_in(calls: Iterable[Call], steps: Mapping[str, tuple[int, ...]]) -> Iterator[Call]:
    for call in calls:
        if call.conversation_id in steps and call.is_in(steps[call.conversation_id]):
            yield call


def _pointers(looked: Looked, steps: Mapping[str, tuple[int, ...]]) -> Iterator[Pointer]:
    """Whoever remembers a number that was, or will be, something else."""
    for other in looked.witnesses:
        yield from _past(looked, other)
        if other is not looked.source:
            yield from _remembered(other)
    for key, lost in sorted(steps.items()):
        if calls := _lost_calls(looked, {key: lost}):
            tools = ", ".join(sorted({call.tool for call in calls}))
            pointed = {step for call in calls for step in call.steps} & {*lost}
            yield Pointer(key, tuple(sorted(pointed)), f"the tool {tools}", calls=calls)
    for key, (last, who) in sorted(looked.cursors.items()):
        mine = looked.last_step(key)
        if last > mine:
            yield Pointer(key, tuple(_after(mine, last)), who)


def _past(looked: Looked, other: Other) -> Iterator[Pointer]:
    """Numbers under which two logs say different things: they were handed out twice."""
    beside = [(standing, looked.calls) for standing in other.standings.values()]
    if looked.source is not None:
        told = (standing for standing in other.beside_source.values())
        beside += [(standing, looked.source.calls) for standing in told]
    for standing, calls in beside:
        if standing.twice:
            steps = {standing.conversation_id: standing.twice}
            behind = (*_calls_in(other.calls, steps), *_calls_in(calls, steps))
            who = f"the log {other.called}"
            yield Pointer(standing.conversation_id, standing.twice, who, True, behind)


def _remembered(other: Other) -> Iterator[Pointer]:
    """Numbers of another copy that the restored log does not have yet, or any more."""
    for key, standing in other.standings.items():
        if standing.missing:
            calls = tuple(_calls_in(other.calls, {key: standing.missing}))
            yield Pointer(key, standing.missing, f"the log {other.called}", calls=calls)
