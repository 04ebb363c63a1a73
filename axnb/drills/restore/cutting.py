"""The newest consistent cut of each conversation: a prefix of the log and a snapshot that fit.

Log and bucket are not backed up at one instant. AX suspends an actor at the end of a turn, so a
snapshot stands after a whole number of turns; which number, its own content tells (the drill's
actors count their turns), or its time beside the times at which a server was asked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import duckdb

from axnb.case.case import Case, ask
from axnb.errors import SourceError
from axnb.mapping import MappedSnapshot, state_map
from axnb.runtimes import snapshots

#: The template of a drill's own actors, whose snapshots say how many turns they have seen.
_OWN = f"{snapshots.ATESPACE}/{snapshots.TEMPLATE}"

Relation = Literal["fits", "log-ahead", "snapshot-ahead", "unrecoverable", "none", "unknown"]


@dataclass(frozen=True)
class Placed:
    """A snapshot with the number of turns after which it was taken; None where nothing tells."""

    key: str
    restorable: str
    turns: int | None
    #: By what that is known: `state`, `time`, or nothing.
    how: str = ""


@dataclass(frozen=True)
class Cut:
    """Where a conversation can be taken up again.

    relation   `fits`: at the end of the log; `log-ahead`: the snapshot is older, so the harness
               does not know `apart`; `snapshot-ahead`: the newest snapshot knows turns that the
               log does not have, and an older one fits; `unrecoverable`: none fits; `none`: the
               bucket holds none; `unknown`: nothing tells where the snapshots stand
    """

    conversation_id: str
    relation: Relation
    #: Of the log: its last step, and the last one of the cut.
    last_step: int
    step: int | None = None
    snapshot: str | None = None
    how: str = ""
    #: First and last step that one side has and the other has not; None where no number is known.
    apart: tuple[int, int | None] | None = None
    #: Calls with consequences among the steps that the harness does not know.
    calls: int = 0
    #: Is every snapshot of it one that no restore takes?
    is_refused: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The cut as JSON."""
        return {
            "relation": self.relation,
            "step": self.step,
            "snapshot": self.snapshot,
            "how": self.how or None,
            "apart": None if self.apart is None else list(self.apart),
            "calls": self.calls,
        }


@dataclass(frozen=True)
class Turns:
    """Turns of a conversation: the last step of each, and how many the whole log had."""

    ends: tuple[int, ...]
    total: int


def cuts(
    case: Case,
    restored: str,
    source: str | None,
    bucket: str,
    calls: Mapping[str, Sequence[int]],
) -> dict[str, Cut]:
    """The cut of every conversation of the restored log, and of those that only the bucket has.

    `bucket` is where the restored snapshots are; `calls` are the steps of calls with consequences,
    by conversation.
    """
    mapped = state_map(case)
    with case.reading() as session:
        turns = _turns(session, restored, source)
        asked = {found["conversation_id"]: found for found in ask(session, "request_times")}
        lasts = {
            found["conversation_id"]: int(found["last_step"] or 0)
            for found in ask(session, "extents", {"source": restored})
        }
    held: dict[str, list[MappedSnapshot]] = {}
    for snapshot in mapped.snapshots:
        if snapshot.row["conversation_id"] is not None and not snapshot.row["is_golden"]:
            held.setdefault(snapshot.row["conversation_id"], []).append(snapshot)
    found = {}
    for key in sorted(turns.keys() | held.keys()):
        mine = turns.get(key, Turns((), 0))
        placed = [_placed(one, mine.total, asked.get(key), bucket) for one in held.get(key, ())]
        cut = newest_cut(key, lasts.get(key, 0), mine.ends, placed)
        found[key] = _with_calls(cut, calls.get(key, ()))
    return found


def _turns(
    session: duckdb.DuckDBPyConnection, restored: str, source: str | None
) -> dict[str, Turns]:
    ends: dict[str, list[int]] = {}
    for turn in ask(session, "turn_ends", {"source": restored}):
        ends.setdefault(turn["conversation_id"], []).append(int(turn["last_step"] or 0))
    totals = {key: len(steps) for key, steps in ends.items()}
    if source is not None:
        for turn in ask(session, "turn_ends", {"source": source}):
            totals[turn["conversation_id"]] = int(turn["turn"])
    return {key: Turns(tuple(ends.get(key, ())), total) for key, total in totals.items()}


def _placed(
    snapshot: MappedSnapshot, total: int, asked: Mapping[str, Any] | None, bucket: str
) -> Placed:
    """Where a snapshot stands among the turns of its conversation."""
    if snapshot.row["template"] == _OWN:
        try:
            told = snapshots.look_into(bucket, snapshot.key).state.get("turns")
        except SourceError:
            return Placed(snapshot.key, "refused", None)
        if isinstance(told, int):
            return Placed(snapshot.key, snapshot.restorable, told, "state")
    moment: datetime | None = snapshot.row["moment"]
    turns = None if moment is None else _by_time(moment, total, asked)
    return Placed(snapshot.key, snapshot.restorable, turns, "time" if turns is not None else "")


def _by_time(moment: datetime, total: int, asked: Mapping[str, Any] | None) -> int | None:
    """How many turns were begun by then; None where requests and turns are not the same."""
    if asked is None or not asked["asked"]:
        return None
    times: list[datetime] = asked["asked"]
    begun = bisect_right(times, moment)
    if begun == len(times):
        return total
    return begun if len(times) == total and not asked["without_time"] else None


def newest_cut(key: str, last: int, ends: Sequence[int], placed: Sequence[Placed]) -> Cut:
    """The newest cut of a conversation: its last step, the ends of its turns, its snapshots."""
    if not placed:
        return Cut(key, "none", last, apart=(1, last) if last else None)
    good = [one for one in placed if one.restorable != "refused"]
    known = [one for one in good if one.turns is not None]
    if not good:
        return Cut(key, "unrecoverable", last, apart=(1, last or None), is_refused=True)
    if len(known) < len(good):
        # One that nobody can place may be the newest of all.
        return Cut(key, "unknown", last)
    fitting = [one for one in known if _turns_of(one) <= len(ends)]
    newest = max(known, key=_turns_of)
    if not fitting:
        return Cut(key, "unrecoverable", last, how=newest.how, apart=(last + 1, None))
    best = max(fitting, key=_turns_of)
    step = ends[_turns_of(best) - 1] if _turns_of(best) else 0
    cut = Cut(key, "fits", last, step, best.key, best.how)
    if _turns_of(newest) > len(ends):
        return replace(cut, relation="snapshot-ahead", apart=(last + 1, None))
    if step < last:
        return replace(cut, relation="log-ahead", apart=(step + 1, last))
    return cut


def _turns_of(placed: Placed) -> int:
    return placed.turns or 0


def _with_calls(cut: Cut, steps: Iterable[int]) -> Cut:
    """How many calls the harness would not know of, if it went on from the cut."""
    if cut.apart is None or cut.apart[1] is None:
        return cut
    apart = range(cut.apart[0], cut.apart[1] + 1)
    return replace(cut, calls=sum(step in apart for step in steps))
