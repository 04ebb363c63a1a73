"""Pair tool calls with results where ids alone do not: repeated, empty, early or orphaned ones.

How sure a pairing is, it says itself: `id` (the same id, after the call, in the same turn),
`order` (no id, but only one call was open), `inferred` (anything that needs a guess).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Mark:
    """A logged call or result, as the temp table `marks` holds it."""

    #: Its number in `conversation_numbers`.
    conversation: int
    turn: int
    step: int | None
    position: int
    row: int
    part: int
    kind: str
    call_id: str
    tool: str
    signal: str | None
    #: Digest of a call's arguments; equal ones under one id are one call, logged again.
    arguments: str | None = None

    @property
    def place(self) -> tuple[int, int, int]:
        """Where it stands in its conversation."""
        return self.position, self.row, self.part


@dataclass(frozen=True)
class PairedCall:
    """A call with its result, if it has one."""

    call: Mark
    observations: int
    result: Mark | None
    pairing: str | None


@dataclass
class Pairs:
    """What became of the calls and results of one conversation."""

    calls: list[PairedCall] = field(default_factory=list)
    orphans: list[Mark] = field(default_factory=list)


def pair(marks: Iterable[Mark]) -> Pairs:
    """Pair the calls and results of one conversation."""
    ordered = sorted(marks, key=lambda mark: mark.place)
    pairs = Pairs()
    named: dict[str, list[Mark]] = {}
    unnamed: dict[int, list[Mark]] = {}
    for mark in ordered:
        if mark.call_id:
            named.setdefault(mark.call_id, []).append(mark)
        else:
            unnamed.setdefault(mark.turn, []).append(mark)
    for group in named.values():
        _pair_by_id(group, pairs)
    for group in unnamed.values():
        _pair_by_order(group, pairs)
    pairs.calls.sort(key=lambda paired: paired.call.place)
    pairs.orphans.sort(key=lambda mark: mark.place)
    return pairs


def _pair_by_id(group: Sequence[Mark], pairs: Pairs) -> None:
    """Marks of one id, in order: a result answers the open call of its turn, first first.

    Where several are open under one id (some harnesses use the tool's name), which result belongs
    to which call is a guess for all of them.
    """
    calls: list[PairedCall] = []
    early: list[Mark] = []
    for mark in group:
        if mark.kind == "tool_call":
            last = calls[-1] if calls else None
            if last is not None and _is_same_call(last, mark):
                calls[-1] = replace(last, observations=last.observations + 1)
            else:
                calls.append(PairedCall(mark, 1, None, None))
            continue
        claimants = _claimants(calls, mark)
        if not claimants:
            early.append(mark)
            continue
        if len(claimants) > 1:
            for n in claimants:
                calls[n] = replace(calls[n], pairing="inferred")
        first = claimants[0]
        sure = mark.turn == calls[first].call.turn and calls[first].pairing != "inferred"
        calls[first] = replace(calls[first], result=mark, pairing="id" if sure else "inferred")
    for mark in early:
        at = next(
            (
                n
                for n, paired in enumerate(calls)
                if paired.result is None
                and paired.call.turn == mark.turn
                and paired.call.place > mark.place
                and _fits(paired.call, mark)
            ),
            None,
        )
        if at is None:
            pairs.orphans.append(mark)
        else:
            calls[at] = replace(calls[at], result=mark, pairing="inferred")
    pairs.calls += calls


def _claimants(calls: Sequence[PairedCall], result: Mark) -> list[int]:
    """The calls that a result may answer: the open ones of its turn, else the best other one.

    Those of its own tool come first: a call without a tool's name can take any other result too.

    A later result under the same id replaces an earlier one: a placeholder, then an answer. In a
    later turn it does so only if the call is open or its result was no answer: ids begin again in
    each turn, and a result without its own call is the trace of a lost one.
    """
    fitting = [n for n, paired in enumerate(calls) if _fits(paired.call, result)]
    here = [n for n in fitting if calls[n].call.turn == result.turn]
    waiting = [n for n in here if calls[n].result is None]
    waiting.sort(key=lambda n: calls[n].call.tool != result.tool)
    if waiting or here:
        return waiting or here[-1:]
    return [n for n in fitting if _is_waiting(calls[n].result)][-1:]


def _is_waiting(result: Mark | None) -> bool:
    return result is None or result.signal in ("pending", "placeholder")


def _is_same_call(paired: PairedCall, again: Mark) -> bool:
    """Is this the same call, logged once more while it was streamed?"""
    call = paired.call
    return (
        paired.result is None
        and call.turn == again.turn
        and call.tool == again.tool
        and call.arguments == again.arguments
    )


def _fits(call: Mark, result: Mark) -> bool:
    return not call.tool or not result.tool or call.tool == result.tool


def _pair_by_order(group: Sequence[Mark], pairs: Pairs) -> None:
    """Marks without an id within one turn: results answer open calls of their tool, first first.

    A run is the calls of a tool that are open together. Where more than one is open, which result
    belongs to which call is a guess, and where there are fewer results than calls it cannot be
    told which call went unanswered: all of the run are `inferred`.
    """
    open_runs: dict[str, list[PairedCall]] = {}
    closed: list[PairedCall] = []

    def close(tool: str) -> None:
        run = open_runs.pop(tool, [])
        if len(run) > 1:
            run = [replace(paired, pairing="inferred") for paired in run]
        closed.extend(run)

    for mark in group:
        if mark.kind == "tool_call":
            run = open_runs.get(mark.tool, [])
            if any(paired.result for paired in run):
                close(mark.tool)
            open_runs.setdefault(mark.tool, []).append(PairedCall(mark, 1, None, None))
            continue
        run = _run_for(open_runs, mark)
        at = next((n for n, paired in enumerate(run) if paired.result is None), None)
        if at is None:
            pairs.orphans.append(mark)
        else:
            run[at] = replace(run[at], result=mark, pairing="order")
    for tool in list(open_runs):
        close(tool)
    pairs.calls += closed


def _run_for(open_runs: dict[str, list[PairedCall]], result: Mark) -> list[PairedCall]:
    if result.tool in open_runs:
        return open_runs[result.tool]
    if not result.tool:
        waiting = [run for run in open_runs.values() if any(p.result is None for p in run)]
        return waiting[0] if len(waiting) == 1 else []
    return open_runs.get("", [])
